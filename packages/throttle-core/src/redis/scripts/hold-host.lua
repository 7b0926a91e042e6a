-- hold-host: pauses a host until its owner resumes it. Requests in flight go on.
--
-- KEYS  1 host string  2 wheel zset  3 hosts zset
-- ARGV  1 host part  2 reason  3 by  4 time (ms; '': Redis TIME)
-- Reply 1 when it was held now, 0 when it was held already (then nothing changes: the first reason stays).

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include hold

local now = clock(ARGV[4])
local h = host_read(KEYS[1])
if h.hold then return 0 end
if not h.meta.known then
  host_set(h, 'cap', 1)
  redis.call('ZADD', KEYS[3], 0, ARGV[1])
end
hold_host(h, ARGV[2], ARGV[3], now)
host_write(h, now)
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
