import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A stamp says "this was made, whole, from inputs with this fingerprint". It is taken away before the making starts
 * and set when it has ended, so whatever is interrupted half-way is made again. It lies inside the folder that it
 * vouches for: who deletes the folder deletes the stamp.
 */
export function stampIs(path, fingerprint) {
  try {
    return readFileSync(path, 'utf8') === fingerprint;
  } catch {
    return false;
  }
}

export function clearStamp(path) {
  rmSync(path, { force: true });
}

export function setStamp(path, fingerprint) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, fingerprint);
  renameSync(`${path}.new`, path);
}

/** One digest of file contents and of the strings beside them. */
export function fingerprintOf(files, ...facts) {
  const hash = createHash('sha256');
  for (const fact of facts) hash.update(`${fact}\0`);
  for (const file of files) hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
