import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CATALOG } from './catalog.ts';
import { Lab } from './harness/lab.ts';
import { benchmarkReport, measured, met, target } from './harness/report.ts';
import { commit, keepResult, loadPerCpu, machine, readResults } from './harness/results.ts';
import { ROOT } from './harness/root.ts';
import { markdownTable } from './harness/table.ts';

const USAGE = `pnpm bench [NAME...] [--report] [--list]
  NAME       benches to run, in this order; none: all of them
  --report   write docs/benchmarks.md from the kept results; alone: without running any
  --list     say which there are
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      report: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  if (values.list) {
    for (const [name, load] of Object.entries(CATALOG)) {
      process.stdout.write(`${name.padEnd(22)}${(await load()).bench.about}\n`);
    }
    return;
  }
  const unknown = positionals.find((name) => CATALOG[name] === undefined);
  if (unknown !== undefined) {
    throw new Error(`no bench ${JSON.stringify(unknown)}; there are: ${Object.keys(CATALOG).join(', ')}`);
  }
  const all = positionals.length === 0 && !values.report;
  for (const name of all ? Object.keys(CATALOG) : positionals) await runOne(name);
  if (values.report || all) {
    await mkdir(join(ROOT, 'docs'), { recursive: true });
    await writeFile(join(ROOT, 'docs/benchmarks.md'), benchmarkReport(await readResults()));
    process.stdout.write('docs/benchmarks.md written\n');
  }
}

async function runOne(name: string): Promise<void> {
  const load = CATALOG[name];
  if (load === undefined) return;
  const { bench } = await load();
  process.stdout.write(`\n## ${bench.name}\n${bench.about}\n\n`);
  const lab = new Lab();
  // Redis runs in a process group of its own: without this, Ctrl-C would leave it and the others behind.
  const interrupted = (signal: NodeJS.Signals): void => {
    void lab.stop().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const loadBefore = loadPerCpu();
  const startedMs = performance.now();
  try {
    const result = await bench.run(lab);
    const seconds = (performance.now() - startedMs) / 1000;
    process.stdout.write(`${markdownTable(result.columns, result.rows)}\n\n`);
    for (const figure of result.figures) {
      process.stdout.write(
        `${figure.name}: ${measured(figure)} (target ${target(figure)}, met: ${met(figure)})\n`,
      );
    }
    for (const note of result.notes ?? []) process.stdout.write(`note: ${note}\n`);
    const file = await keepResult({
      bench: bench.name,
      about: bench.about,
      at: new Date().toISOString(),
      commit: await commit(),
      machine: machine(),
      node: process.versions.node,
      seconds,
      loadBefore,
      ...result,
    });
    process.stdout.write(`${seconds.toFixed(0)} s; kept in ${file}\n`);
  } finally {
    await lab.stop();
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
