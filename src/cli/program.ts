import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { TroupeError } from "../core/errors.js";
import { JournalError } from "../journal/journal-error.js";
import { VERSION } from "../version.js";
import { CLIENTS, type ClientName, DRIVERS } from "./choices.js";
import { SHELLS } from "./completion/script.js";
import { EXIT } from "./exit-code.js";

const CONFIG = "config file; by default troupe.config.json (or .jsonc, .yaml, .js) in this folder";

/** What is wrong with the call, rather than with the work. */
const USAGE_CODES = new Set(["invalid_config", "authoriser_required", "agent_not_found", "invalid_input"]);

/**
 * Runs one command. Its module is loaded only then: most of them need a whole host, and help and completion shall be quick.
 * @returns the exit code: 0 done, 1 failed, 2 bad usage or config, 130 cancelled.
 */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.done;
  const program = new Command("troupe")
    .description(
      "Lets a local coding agent call remote agents as visual subagents: people watch them work live, the model gets a short result.",
    )
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("(see --help)")
    .exitOverride();

  program
    .command("demo")
    .description("start a host with scripted agents and show it in a browser; needs no keys and no network")
    .option("-p, --port <number>", "port to listen on; 0 takes a free one", port, 4100)
    .option("--open", "open the page in the default browser")
    .option("--no-open", "only print the address (the default)")
    .option("--json", "print the addresses as one JSON line")
    .action(async (options) => {
      const { demoCommand } = await import("./demo-command.js");
      exitCode = await demoCommand(options);
    });

  program
    .command("serve")
    .description("start the host that troupe.config.json describes")
    .option("-c, --config <file>", CONFIG)
    .option(
      "-p, --port <number>",
      "port to listen on, instead of the config's (4100 by default); 0 takes a free one",
      port,
    )
    .option("--hostname <name>", "address to listen on, instead of the config's (127.0.0.1 by default)")
    .option(
      "--grace <seconds>",
      "how long what an MCP client began goes on without it; 10 by default",
      seconds,
    )
    .option("--idle-end <seconds>", "end when nothing ran, and nobody was connected, for this long", seconds)
    .addOption(new Option("--background", "for external parents alone").hideHelp())
    .option("--json", "print the addresses as one JSON line")
    .action(async (options) => {
      const { serveCommand } = await import("./serve-command.js");
      exitCode = await serveCommand(options);
    });

  program
    .command("run")
    .description("run an agent once and watch it here")
    .argument("<prompt...>", "what the agent shall do")
    .option("-c, --config <file>", "config file; without any, scripted demo agents are used")
    .option("-a, --agent <key>", "which agent of the config; by default its first one")
    .option("--json", "print one journal entry a line")
    .action(async (prompt: string[], options) => {
      const { runCommand } = await import("./run-command.js");
      exitCode = await runCommand(prompt.join(" "), options);
    });

  const mcp = program
    .command("mcp")
    .description("give the sub-agents of a config to an MCP client, on standard input and output")
    .option("-c, --config <file>", CONFIG)
    .option("--standalone", "without the workspace's host; what the client began ends with it")
    .action(async (options) => {
      const { mcpCommand } = await import("./mcp-command.js");
      exitCode = await mcpCommand(options);
    });
  mcp
    .command("install")
    .description("print what goes into an MCP client's config, or write it there")
    .addArgument(new Argument("<client>", "the client").choices(CLIENTS))
    .option("-c, --config <file>", CONFIG)
    .option("--write", "write it; what is there stays")
    .option("--dir <folder>", "folder of the project, or of Codex's own config")
    .option("--json", "print it as one JSON line")
    .action(async (client: ClientName, _options, command: Command) => {
      const { mcpInstallCommand } = await import("./mcp-install-command.js");
      exitCode = await mcpInstallCommand(client, command.optsWithGlobals());
    });
  mcp
    .command("revoke")
    .description("revoke the token with which MCP clients come into this workspace's host")
    .option("-c, --config <file>", CONFIG)
    .option("--json", "print it as one JSON line")
    .action(async (_options, command: Command) => {
      const { mcpRevokeCommand } = await import("./mcp-install-command.js");
      exitCode = await mcpRevokeCommand(command.optsWithGlobals());
    });

  program
    .command("watch")
    .description("show what goes on in this workspace's host")
    .option("-c, --config <file>", "config file of the workspace; by default the one in this folder")
    .option("--url <url>", "address of the host, instead of the workspace's")
    .option("--thread <id>", "only this thread")
    .option("--json", "print one event a line")
    .action(async (options) => {
      const { watchCommand } = await import("./watch-command.js");
      exitCode = await watchCommand(options);
    });

  program
    .command("agents")
    .description("list the programs that are installed, and how the agents and sub-agents of a config are")
    .option("-c, --config <file>", CONFIG)
    .option("--json", "print all of it as one JSON line")
    .action(async (options) => {
      const { agentsCommand } = await import("./agents-command.js");
      exitCode = await agentsCommand(options);
    });

  program
    .command("check")
    .description("look whether everything that a config names works, and say what to do; no task is sent")
    .option("-c, --config <file>", CONFIG)
    .option("--json", "print all of it as one JSON line")
    .action(async (options) => {
      const { checkCommand } = await import("./check-command.js");
      exitCode = await checkCommand(options);
    });

  program
    .command("init")
    .description("ask a few questions, and write troupe.config.json")
    .option("-c, --config <file>", "file to write, instead of troupe.config.json in this folder")
    .option("-y, --yes", "ask nothing, and take the defaults and these options")
    .addOption(
      new Option("--agent <driver>", "local agent; by default the first that is installed").choices(DRIVERS),
    )
    .option("--card <url>", "card of an A2A agent that it may call")
    .option("--name <name>", "what it calls that agent; by default the card's name")
    .option("--token-variable <name>", "environment variable that holds that agent's token")
    .option("--force", "overwrite a config that is there")
    .option("--json", "print the file and the config as one JSON line")
    .action(async (options) => {
      const { initCommand } = await import("./init-command.js");
      exitCode = await initCommand(options);
    });

  program
    .command("replay")
    .description("show a thread, a run or a delegation again, from the journal on disk")
    .argument("<id>", "of the thread, the run or the delegation")
    .option("-c, --config <file>", "config file that names the journal; by default the one in this folder")
    .option("-j, --journal <journal>", "sqlite:FILE, instead of the config's")
    .addOption(
      new Option("--speed <factor>", "take the time that it took, divided by this")
        .argParser(factor)
        .conflicts("instant"),
    )
    .option("--instant", "show it at once (the default)")
    .option("--json", "print one journal entry a line")
    .action(async (id: string, options) => {
      const { replayCommand } = await import("./replay-command.js");
      exitCode = await replayCommand(id, options);
    });

  program
    .command("completion")
    .description("print a script that makes a shell complete the commands and their options")
    .addArgument(new Argument("[shell]", "the shell").choices(SHELLS))
    .addOption(new Option("--agents", "print the agents of the config in this folder").hideHelp())
    .action(async (shell: string | undefined, { agents }: { agents?: boolean }) => {
      const { agentKeys, completionCommand } = await import("./completion-command.js");
      if (agents) for (const name of await agentKeys()) console.log(name);
      else exitCode = completionCommand(shell ?? "", program);
    });

  program.addHelpText(
    "after",
    `
Examples:
  troupe demo                         see it work, at http://127.0.0.1:4100
  troupe run "Compare three queues"   the same in this terminal
  troupe serve --config team.json     your own agents
  troupe init                         write a config
  troupe check                        what of it works, and what to do about the rest
  troupe agents                       what is installed, and what is missing
  troupe replay run-5f0c              what happened in a run
  troupe mcp install claude           your agents in Claude Code's own window
  troupe watch                        and what they do there, beside it

Exit codes: 0 done, 1 the run failed, 2 bad usage or config, 130 cancelled.`,
  );

  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error instanceof TroupeError) {
      const { clean } = await import("./tree/render.js");
      console.error(`troupe: ${clean(error.message)}`);
      return USAGE_CODES.has(error.code) || error instanceof JournalError ? EXIT.usage : EXIT.failed;
    }
    if (isListenError(error)) {
      console.error(
        `troupe: cannot listen there (${error.code}). Choose another port with --port, or 0 for a free one.`,
      );
      return EXIT.usage;
    }
    throw error;
  }
}

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535)
    throw new InvalidArgumentError("A port is a number from 0 to 65535.");
  return number;
}

function seconds(text: string): number {
  const number = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text) || number > 1_000_000)
    throw new InvalidArgumentError("It is a number of seconds.");
  return number;
}

function factor(text: string): number {
  const number = Number(text);
  if (!(number > 0 && number <= 1_000_000))
    throw new InvalidArgumentError("A speed is a number above 0; 1 is as fast as it was.");
  return number;
}

function isListenError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && "syscall" in error && error.syscall === "listen" && "code" in error;
}
