import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** What the name server says about a name: addresses, no such name, a failure, or nothing at all. */
export type DnsAnswer = readonly string[] | 'nxdomain' | 'servfail' | 'silence';

export interface StubDns {
  /** `127.0.0.1:port`, as a resolver takes it. */
  readonly server: string;
  /** Names asked for, in order, IPv4 and IPv6 questions each. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** A name server over UDP. `answer` is asked anew for each question, so it may change its mind. */
export async function stubDns(answer: (name: string, family: 4 | 6) => DnsAnswer): Promise<StubDns> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = readName(query);
    const family = query.readUInt16BE(end) === 28 ? 6 : 4;
    asked.push(name);
    const said = answer(name, family);
    if (said === 'silence') return;
    const addresses = typeof said === 'string' ? [] : said.filter((address) => isIP(address) === family);
    const code = said === 'nxdomain' ? 3 : said === 'servfail' ? 2 : 0;
    socket.send(reply(query, end + 4, addresses, code), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    asked,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

/** RFC 1035 §4: the question comes back, each answer points at its name, and lives for 0 seconds. */
function reply(query: Buffer, questionEnd: number, addresses: readonly string[], code: number): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(bytes.length === 16 ? 28 : 1, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, query.subarray(12, questionEnd), ...records]);
}
