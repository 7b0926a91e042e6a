-- reopen-host: the owner ends a hold (`resume`) or closes the circuit by hand (`reset`), and the first jobs are called.
-- The cooldown is the server's word and stays.
--
-- KEYS  1 host string  2 leases zset  3 lane zset  4 called zset  5 wheel zset
-- ARGV  1 host part  2 resume|reset  3 time (ms; '': Redis TIME)
-- Reply called jobs...
-- Untouched when the host is unknown: everything.

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include circuit

local now = clock(ARGV[3])
local h = host_read(KEYS[1])
if not h.meta.known then return {} end
if ARGV[2] == 'resume' then
  if h.hold then
    h.hold, h.holdBy, h.holdAt = nil, nil, nil
    host_set(h, 'noHint', 0)
    h.pace.reopening, h.pace.scoutUntilMs = 1, 0
  end
elseif h.circuit ~= 'closed' then
  circuit_close(h)
end
host_write(h, now)
local list = {}
call_host(h, ARGV[1], { leases = KEYS[2], lane = KEYS[3], called = KEYS[4], wheel = KEYS[5] }, now, 64, true, list)
return list
