import { describe, expect, test } from 'vitest';
import { BODY_SIGNS_CHARACTERS_MAX, readBodySigns } from './body-signs.ts';

describe('challenge pages', () => {
  test.each([
    '<title>Just a moment...</title>',
    '<title>Attention Required! | Cloudflare</title>',
    '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>',
    '<input type="hidden" name="cf_chl_opt">',
    '<script src="https://ct.captcha-delivery.com/c.js"></script>',
    '<iframe src="/_Incapsula_Resource?CWUDNSAI=9"></iframe>',
    '<div id="px-captcha"></div>',
    '<div class="g-recaptcha" data-sitekey="k"></div>',
    '<div class="h-captcha"></div>',
    'window.awsWafCookieDomainList = [];',
  ])('%s', (html) => {
    expect(readBodySigns(`<html><head>${html}`)).toEqual({ challenge: true, rateLimited: false });
  });
});

describe('bodies about a rate limit', () => {
  test.each([
    '{"message":"You have exceeded a secondary rate limit. Please wait."}',
    '{"message":"API rate limit exceeded for 192.0.2.1."}',
    '{"error":{"errors":[{"reason":"rateLimitExceeded"}]}}',
    '{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}',
    '{"reason":"quotaExceeded"}',
    'error code: 1015',
    'You are being rate limited',
    '<h1>Too Many Requests</h1>',
    'Request limit exceeded.',
    'Rate limit has been reached',
  ])('%s', (text) => {
    expect(readBodySigns(text)).toEqual({ challenge: false, rateLimited: true });
  });
});

describe('bodies that say neither', () => {
  test.each([
    '',
    '<h1>403 Forbidden</h1>',
    'Read about our rate limits in the documentation.',
    'Please complete the CAPTCHA on the next page.',
    'Your disk quota is 5 GB.',
    'error code: 1020',
  ])('%j', (text) => {
    expect(readBodySigns(text)).toEqual({ challenge: false, rateLimited: false });
  });

  test('a mark beyond the beginning is not looked at', () => {
    const mark = 'error code: 1015';
    expect(readBodySigns(' '.repeat(BODY_SIGNS_CHARACTERS_MAX - mark.length) + mark).rateLimited).toBe(true);
    expect(readBodySigns(' '.repeat(BODY_SIGNS_CHARACTERS_MAX) + mark).rateLimited).toBe(false);
  });
});
