import pc from 'picocolors';

/** What a command needs from its surroundings; tests give their own. */
export interface CommandIo {
  /** Resolves when the text has been taken, so that a slow reader slows us down. */
  readonly write: (text: string) => Promise<void>;
  readonly writeError: (text: string) => void;
  /** All of standard input, at most a little more than `charactersMax`. */
  readonly readInput: (charactersMax: number) => Promise<string>;
  readonly nowMs: () => number;
  readonly isColored: boolean;
  /** The exit code of the process, once it has nothing more to do. */
  readonly fail: (exitCode: number) => void;
}

export function processIo(): CommandIo {
  return {
    write: async (text) => {
      if (process.stdout.write(text)) return;
      await new Promise<void>((resolve) => {
        process.stdout.once('drain', resolve);
      });
    },
    writeError: (text) => {
      process.stderr.write(text);
    },
    readInput,
    nowMs: Date.now,
    isColored: pc.isColorSupported,
    fail: (exitCode) => {
      process.exitCode = exitCode;
    },
  };
}

async function readInput(charactersMax: number): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.length > charactersMax) break;
  }
  return text;
}
