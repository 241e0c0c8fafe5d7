import type { Command } from "commander";
import { type CommandWords, type OptionWords, ownOptions, wordsOf } from "./words.js";

/** Shells that a script can be had for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of {@link SHELLS}. */
export type Shell = (typeof SHELLS)[number];

/** Whether a script can be had for this shell. */
export function isShell(name: string): name is Shell {
  return SHELLS.some((shell) => shell === name);
}

/** The script that makes a shell complete `program`, made of the commands that it has. */
export function completionScript(shell: Shell, program: Command): string {
  const commands = wordsOf(program);
  const own = ownOptions(program);
  const name = program.name();
  switch (shell) {
    case "bash":
      return bash(name, commands, own);
    case "zsh":
      return zsh(name, commands, own);
    case "fish":
      return fish(name, commands, own);
  }
}

const AGENTS = "completion --agents";

function flagsOf(options: readonly OptionWords[]): string {
  return options.flatMap(({ flags }) => flags).join(" ");
}

function bash(name: string, commands: readonly CommandWords[], own: readonly OptionWords[]): string {
  const values = commands.flatMap((command) =>
    command.options.flatMap((option) =>
      option.value === "none"
        ? []
        : [
            `    ${option.flags.map((flag) => `"${command.name} ${flag}"`).join("|")}) ${bashValue(name, option)} ;;`,
          ],
    ),
  );
  const words = commands.map(
    (command) =>
      `    ${command.name}) words="${[...command.choices, flagsOf(command.options)].join(" ").trim()}" ;;`,
  );
  const names = commands.map((command) => command.name);
  return `# bash completion for ${name}: eval "$(${name} completion bash)"
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${names.join("|")}) command="$word"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
${values.join("\n")}
  esac
  case "$command" in
    "") words="${names.join(" ")} ${flagsOf(own)}" ;;
${words.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${name} ${name}
`;
}

function bashValue(name: string, { value, choices }: OptionWords): string {
  switch (value) {
    case "file":
      return `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return`;
    case "agent":
      return `COMPREPLY=($(compgen -W "$(${name} ${AGENTS} 2>/dev/null)" -- "$current")); return`;
    case "choice":
      return `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current")); return`;
    default:
      return "return";
  }
}

function zsh(name: string, commands: readonly CommandWords[], own: readonly OptionWords[]): string {
  const cases = commands.map((command) => {
    const lines = command.options.map((option) => `          ${zshOption(option)}`);
    if (command.choices.length > 0) lines.push(`          '1:argument:(${command.choices.join(" ")})'`);
    return `        ${command.name})\n          _arguments \\\n${lines.map((line) => `  ${line}`).join(" \\\n")}\n          ;;`;
  });
  return `#compdef ${name}
# zsh completion for ${name}: eval "$(${name} completion zsh)"
_${name}_agents() {
  local -a agents
  agents=(\${(f)"$(${name} ${AGENTS} 2>/dev/null)"})
  compadd -a agents
}
_${name}() {
  local context state line
  typeset -A opt_args
  local -a commands
  commands=(
${commands.map((command) => `    '${command.name}:${command.description}'`).join("\n")}
  )
  _arguments -C \\
${own.map((option) => `    ${zshOption(option)} \\`).join("\n")}
    '1: :->command' '*:: :->rest'
  case $state in
    command)
      _describe command commands
      ;;
    rest)
      case $words[1] in
${cases.join("\n")}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = "_${name}" ]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function zshOption({ flags, description, value, choices }: OptionWords): string {
  const actions = {
    none: "",
    file: ":file:_files",
    agent: ":agent:_troupe_agents",
    other: ":value: ",
    choice: "",
  };
  const action = value === "choice" ? `:value:(${choices.join(" ")})` : actions[value];
  const told = `'[${description}]${action}'`;
  return flags.length === 1
    ? `${flags[0] ?? ""}${told}`
    : `'(${flags.join(" ")})'{${flags.join(",")}}${told}`;
}

function fish(name: string, commands: readonly CommandWords[], own: readonly OptionWords[]): string {
  const line = (...words: string[]) => ["complete", "-c", name, ...words].join(" ");
  const option = ({ flags, description, value, choices }: OptionWords) => [
    ...flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)),
    ...fishValue(name, value, choices),
    `-d '${description}'`,
  ];
  return [
    `# fish completion for ${name}: ${name} completion fish | source`,
    line("-f"),
    ...own.map((one) => line("-n __fish_use_subcommand", ...option(one))),
    ...commands.map((command) =>
      line("-n __fish_use_subcommand", `-a ${command.name}`, `-d '${command.description}'`),
    ),
    ...commands.flatMap((command) => {
      const seen = `-n '__fish_seen_subcommand_from ${command.name}'`;
      return [
        ...(command.choices.length === 0 ? [] : [line(seen, `-a '${command.choices.join(" ")}'`)]),
        ...command.options.map((one) => line(seen, ...option(one))),
      ];
    }),
    "",
  ].join("\n");
}

function fishValue(name: string, value: OptionWords["value"], choices: readonly string[]): string[] {
  switch (value) {
    case "none":
      return [];
    case "file":
      return ["-r", "-F"];
    case "agent":
      return ["-x", `-a '(${name} ${AGENTS} 2>/dev/null)'`];
    case "choice":
      return ["-x", `-a '${choices.join(" ")}'`];
    case "other":
      return ["-x"];
  }
}
