import { STATUS_CODES } from 'node:http';
import { WARCRecord, WARCSerializer } from 'warcio';
import type { DeliveredPage, EndedUrl } from '../deliver-result.ts';

/** Headers that describe the bytes on the wire; what is kept is the decoded body. */
const WIRE_HEADERS = new Set(['content-encoding', 'transfer-encoding', 'content-length']);
/** Session secrets: an archive is passed on to others. */
const SECRET_HEADERS = new Set(['set-cookie', 'set-cookie2', 'proxy-authenticate', 'www-authenticate']);
const WARC_VERSION = 'WARC/1.1';

type HeaderPairs = [name: string, value: string][];

/** The record that opens a file and says who wrote it (ISO 28500:2017 §6.2). */
export function warcInfo(filename: string, userAgent: string, date: string): Promise<Uint8Array> {
  const record = WARCRecord.createWARCInfo(
    { filename, date, warcVersion: WARC_VERSION },
    {
      software: 'Holdoff (https://github.com/holdoff/holdoff)',
      format: 'WARC File Format 1.1',
      'http-header-user-agent': userAgent,
    },
  );
  return WARCSerializer.serialize(record, { gzip: true });
}

/**
 * The records of one result, each a gzip member of its own: `response` and `request` when the server answered,
 * and always `metadata`, which is the line that other sinks write. Its `key` drops duplicates.
 *
 * The request names what every request of ours carries. Header sets of jobs stay out: they may be credentials.
 */
export async function warcRecords(
  ended: EndedUrl,
  page: DeliveredPage,
  userAgent: string,
): Promise<Uint8Array> {
  const common = { url: ended.finalUrl, date: ended.endedAt, warcVersion: WARC_VERSION } as const;
  const records: WARCRecord[] = [];
  const concurrent: HeaderPairs = [];
  if (ended.status > 0) {
    const { url, host } = pathOf(ended.finalUrl);
    const response = WARCRecord.create(
      {
        ...common,
        type: 'response',
        statusline: `HTTP/1.1 ${ended.status} ${STATUS_CODES[ended.status] ?? ''}`.trimEnd(),
        httpHeaders: responseHeaders(page),
        warcHeaders: ended.bodyState === 'truncated' ? [['WARC-Truncated', 'length']] : [],
      },
      [page.body],
    );
    const responseId = response.warcHeader('WARC-Record-ID') ?? '';
    concurrent.push(['WARC-Concurrent-To', responseId]);
    const request = WARCRecord.create({
      ...common,
      type: 'request',
      statusline: `${page.method} ${url} HTTP/1.1`,
      httpHeaders: [
        ['Host', host],
        ['User-Agent', userAgent],
      ],
      warcHeaders: concurrent,
    });
    records.push(response, request);
  }
  records.push(
    WARCRecord.create(
      {
        ...common,
        type: 'metadata',
        warcHeaders: [['Content-Type', 'application/json'], ...concurrent],
      },
      [new TextEncoder().encode(JSON.stringify(ended))],
    ),
  );
  const members = await Promise.all(
    records.map((record) => WARCSerializer.serialize(record, { gzip: true })),
  );
  return Buffer.concat(members);
}

/** What described the wire is kept under another name, as archiving crawlers do, since replay believes headers. */
function responseHeaders({ headers, body }: DeliveredPage): HeaderPairs {
  const pairs = Object.entries(headers)
    .filter(([name]) => !SECRET_HEADERS.has(name))
    .map(([name, lines]): [string, string] => [
      WIRE_HEADERS.has(name) ? `x-archive-orig-${name}` : name,
      lines.join(', '),
    ]);
  return [...pairs, ['content-length', String(body.length)]];
}

function pathOf(address: string): { readonly url: string; readonly host: string } {
  const { pathname, search, host } = new URL(address);
  return { url: `${pathname}${search}`, host };
}
