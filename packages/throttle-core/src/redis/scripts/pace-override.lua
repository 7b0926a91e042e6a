-- pace-override: the owner sets, bounds, switches off or forgets a host's learned pace.
--
-- KEYS  1 host hash  2 hosts zset
-- ARGV  1 host part  2 override text ('': none; 'reset' forgets what was learned)  3 time (ms; '': Redis TIME)
-- Reply 1

-- @include clock
-- @include pace
-- @include host-state

local now = clock(ARGV[3])
local h = host_read(KEYS[1])
if not h.known then
  host_set(h, 'cap', 1)
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
if ARGV[2] == 'reset' then
  redis.call('HDEL', KEYS[1], 'override', unpack(pace_fields()))
  host_set(h, 'interval', 0)
  -- What was learned goes; an instant that is already given to others stays.
  local fresh = pace_read({})
  fresh.nextAtMs, fresh.reopening, fresh.scoutUntilMs = h.pace.nextAtMs, h.pace.reopening, h.pace.scoutUntilMs
  h.pace, h.paceBefore = fresh, pace_read({})
else
  host_set(h, 'override', ARGV[2])
end
host_write(h, now, 0)
return 1
