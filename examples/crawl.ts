// Follows the links of a site and keeps the title of each page:
//   holdoff run https://example.com/ --handler examples/crawl.ts

interface Page {
  readonly url: string;
  readonly finalUrl: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string | null;
  readonly body: Uint8Array;
  text(): string;
}

type Verdict =
  | { readonly kind: 'useful'; readonly data?: unknown; readonly follow?: readonly string[] }
  | { readonly kind: 'not_useful'; readonly reason?: string };

export default function crawl(page: Page): Verdict {
  if (page.contentType?.startsWith('text/html') !== true) return { kind: 'not_useful', reason: 'no HTML' };
  const html = page.text();
  const title = /<title[^>]*>([^<]*)/i.exec(html)?.[1]?.trim() ?? null;
  const site = new URL(page.finalUrl).origin;
  const links = [...html.matchAll(/<a\s[^>]*href="([^"#]+)/gi)]
    .map(([, href]) => URL.parse(href ?? '', page.finalUrl))
    .filter((link) => link?.origin === site)
    .map((link) => link?.href ?? '');
  return { kind: 'useful', data: { title }, follow: [...new Set(links)].slice(0, 100) };
}
