import { relative } from 'node:path';
import { ROOT, readJson } from './workspace.mjs';

/** Counts of one vitest JSON report. A file that could not be loaded is a failure although it holds no test. */
export function readTally(path) {
  let report;
  try {
    report = readJson(path);
  } catch {
    return { passed: 0, failed: 0, skipped: 0, failures: [] };
  }
  const tally = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const file of report.testResults) {
    const name = relative(ROOT, file.name);
    for (const test of file.assertionResults) {
      if (test.status === 'passed') tally.passed += 1;
      else if (test.status === 'failed') {
        tally.failed += 1;
        tally.failures.push(`${name}: ${test.fullName}`);
      } else tally.skipped += 1;
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      tally.failed += 1;
      tally.failures.push(`${name}: ${(file.message || 'could not run').split('\n')[0]}`);
    }
  }
  return tally;
}
