import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type { ExtractionRules } from './extraction-rules.ts';
import { type HandlerInput, type HandlerPage, handlerInput } from './handler-page.ts';
import { type HandlerVerdict, readVerdict } from './handler-verdict.ts';

/** What a thread is started with. */
export type HandlerSource =
  /** Absolute path of the user's module. */
  | { readonly kind: 'module'; readonly path: string }
  | { readonly kind: 'extraction'; readonly rules: ExtractionRules };

export type ThreadMessage =
  | { readonly kind: 'ready' }
  /** The thread cannot work at all. */
  | { readonly kind: 'broken'; readonly fault: string }
  | { readonly kind: 'verdict'; readonly verdict: HandlerVerdict }
  | { readonly kind: 'failed'; readonly fault: string };

type Handle = (page: HandlerInput) => unknown;

/** The inside of a handler thread: loads the handler, then answers one page after the other. */
async function run(source: HandlerSource): Promise<void> {
  let handle: Handle;
  try {
    handle = source.kind === 'module' ? await loadModule(source.path) : await loadExtraction(source.rules);
  } catch (error) {
    say({ kind: 'broken', fault: messageOf(error) });
    return;
  }
  parentPort?.on('message', (page: HandlerPage) => void answer(handle, page).then(say));
  say({ kind: 'ready' });
}

async function answer(handle: Handle, page: HandlerPage): Promise<ThreadMessage> {
  let returned: unknown;
  try {
    returned = await handle(handlerInput(page));
  } catch (error) {
    return { kind: 'failed', fault: `it threw ${messageOf(error)}` };
  }
  const verdict = readVerdict(returned);
  return verdict.kind === 'bad' ? { kind: 'failed', fault: verdict.fault } : { kind: 'verdict', verdict };
}

async function loadModule(path: string): Promise<Handle> {
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  if (typeof module.default !== 'function') throw new Error('it must export a function as default');
  return module.default as Handle;
}

/** The parser is loaded only where it is needed. Selectors are tried once, so that a bad one is known at the start. */
async function loadExtraction(rules: ExtractionRules): Promise<Handle> {
  const { extractFields } = await import('./extract-fields.ts');
  const empty = {
    url: '',
    finalUrl: 'http://localhost/',
    status: 200,
    headers: {},
    contentType: 'text/html',
  };
  const page = handlerInput({ ...empty, body: new Uint8Array(0) });
  for (const [name, rule] of Object.entries(rules)) {
    try {
      extractFields({ [name]: rule }, page);
    } catch (error) {
      throw new Error(`${name}.selector: ${rule.selector}: ${messageOf(error)}`, { cause: error });
    }
  }
  return (page) => extractFields(rules, page);
}

function say(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage(message);
}

function messageOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'a value that cannot be shown';
  }
}

await run(workerData as HandlerSource);
