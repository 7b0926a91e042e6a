-- pace-override: the owner sets, bounds, switches off or forgets a host's learned pace.
--
-- KEYS  1 host string  2 hosts zset
-- ARGV  1 host part  2 override text ('': none; 'reset' forgets what was learned)  3 time (ms; '': Redis TIME)
-- Reply 1

-- @include clock
-- @include packed
-- @include pace
-- @include host-state

local now = clock(ARGV[3])
local h = host_read(KEYS[1])
if not h.meta.known then
  h.cap = 1
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
if ARGV[2] == 'reset' then
  h.override, h.interval = nil, nil
  -- What was learned goes; an instant that is already given to others stays.
  local old = h.pace
  h.pace = { nextAtMs = old.nextAtMs, reopening = old.reopening, scoutUntilMs = old.scoutUntilMs }
else
  h.override = ARGV[2] ~= '' and ARGV[2] or nil
end
host_write(h, now)
return 1
