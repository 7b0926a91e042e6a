import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { RuleInput } from './description.ts';
import { closeServer } from './listen.ts';
import type { SeenRequest } from './request-log.ts';
import type { SampleOrigin } from './start-sample-origin.ts';

type Administered = Pick<SampleOrigin, 'hosts' | 'stats' | 'log' | 'reset' | 'setRules'>;

const BODY_BYTES_MAX = 1024 ** 2;

/** The judge's door, on 127.0.0.1 alone: what the origin saw, and rules that change while it runs. */
export async function startAdmin(
  origin: Administered,
  port: number,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(origin, request, response).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      if (!response.headersSent) sendJson(response, 400, { error: message });
      else response.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const chosen = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `http://127.0.0.1:${chosen}`, stop: () => closeServer(server) };
}

async function answer(
  origin: Administered,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://admin');
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /stats':
      return sendJson(response, 200, origin.stats());
    case 'GET /hosts':
      return sendJson(response, 200, Object.fromEntries(origin.hosts));
    case 'GET /log': {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      // A reader that goes away early is no fault of ours.
      pipeline(Readable.from(linesOf(origin.log())), response, () => undefined);
      return undefined;
    }
    case 'POST /reset':
      origin.reset();
      return sendJson(response, 200, { reset: true });
    case 'PUT /rules': {
      const rules: unknown = JSON.parse(await readBody(request));
      // Checked by setRules, like every other description.
      origin.setRules(url.searchParams.get('host') ?? '', rules as readonly RuleInput[]);
      return sendJson(response, 200, { set: true });
    }
    default:
      return sendJson(response, 404, {
        error: 'GET /stats, GET /hosts, GET /log, POST /reset, PUT /rules?host=NAME',
      });
  }
}

function* linesOf(entries: readonly SeenRequest[]): Generator<string> {
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(value)}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const chunk = Buffer.isBuffer(part) ? part : Buffer.from(String(part));
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw new Error(`the body is longer than ${BODY_BYTES_MAX} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}
