-- inspect-job: everything known of a job, at one instant. Changes nothing.
--
-- KEYS  1 job string  2 trail list
-- The host is known by the ledger only: its keys, and the batch's, are named here, under the same hash tag.
-- ARGV  1 key prefix  2 job
-- Reply {} when unknown, else ledger pairs, trail lines, place|'', host pairs, batch pairs

-- @include packed
-- @include flatten

local j = packed_read(KEYS[1], {})
if not j.meta.known then return {} end
local place = ''
if j.wl and j.wl ~= '' then place = redis.call('ZRANK', ARGV[1] .. ':lane:' .. j.wl, ARGV[2]) or '' end
return {
  flatten(j, '', {}), redis.call('LRANGE', KEYS[2], 0, -1), place,
  flatten(packed_read(ARGV[1] .. ':host:' .. j.h, {}), '', {}),
  flatten(packed_read(ARGV[1] .. ':batch:' .. j.b, {}), '', {}),
}
