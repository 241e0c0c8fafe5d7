import type { Command, Option } from "commander";

/** What comes after an option. */
export type ValueKind = "none" | "file" | "agent" | "choice" | "other";

/** An option as a completion knows it. */
export interface OptionWords {
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: ValueKind;
  readonly choices: readonly string[];
}

/** A command as a completion knows it. */
export interface CommandWords {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionWords[];
  /** What its argument may be. */
  readonly choices: readonly string[];
}

/** All commands of a program with their options, as its own list has them. */
export function wordsOf(program: Command): CommandWords[] {
  const commands = program.createHelp().visibleCommands(program);
  const names = commands.map((command) => command.name());
  return commands.map((command) => ({
    name: command.name(),
    description: firstWords(command.description()),
    options: program.createHelp().visibleOptions(command).map(optionWords),
    choices:
      command.name() === "help"
        ? names
        : [
            ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
            ...command.commands.map((sub) => sub.name()),
          ],
  }));
}

/** The options of the program itself. */
export function ownOptions(program: Command): OptionWords[] {
  return program.createHelp().visibleOptions(program).map(optionWords);
}

function optionWords(option: Option): OptionWords {
  const { short, long, description, argChoices } = option;
  return {
    flags: [short, long].filter((flag) => flag != null),
    description: firstWords(description),
    value: kindOf(option),
    choices: argChoices ?? [],
  };
}

function kindOf({ flags, required, optional, argChoices }: Option): ValueKind {
  if (!required && !optional) return "none";
  if (argChoices !== undefined) return "choice";
  if (flags.includes("<file>")) return "file";
  return flags.includes("<key>") ? "agent" : "other";
}

/** What comes before the first `;` fits beside a word; quotes would have to be escaped three ways. */
function firstWords(text: string): string {
  return (text.split(";")[0] ?? "").replaceAll(/["'`$\\[\]:]/g, "");
}
