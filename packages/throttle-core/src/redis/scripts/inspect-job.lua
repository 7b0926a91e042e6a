-- inspect-job: everything known of a job, at one instant. Changes nothing.
--
-- KEYS  1 job hash  2 trail list
-- The host is known by the ledger only: its keys, and the batch's, are named here, under the same hash tag.
-- ARGV  1 key prefix  2 job
-- Reply {} when unknown, else job hash pairs, trail lines, place|'', host's cooldown, circuit, open until, no-hint
--       events, tokens|'', batch hash pairs

local raw = redis.call('HGETALL', KEYS[1])
if #raw == 0 then return {} end
local j = {}
for i = 1, #raw, 2 do j[raw[i]] = raw[i + 1] end
local place = ''
if j.wl and j.wl ~= '' then place = redis.call('ZRANK', ARGV[1] .. ':lane:' .. j.wl, ARGV[2]) or '' end
local host = redis.call('HMGET', ARGV[1] .. ':host:' .. j.h, 'cooldown', 'circuit', 'openUntil', 'noHint', 'tokens')
return {
  raw, redis.call('LRANGE', KEYS[2], 0, -1), place, host[1] or 0, host[2] or 'closed', host[3] or 0, host[4] or 0,
  host[5] or '', redis.call('HGETALL', ARGV[1] .. ':batch:' .. j.b),
}
