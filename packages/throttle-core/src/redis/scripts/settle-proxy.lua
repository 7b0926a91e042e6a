-- settle-proxy: what one request taught the fleet about the proxy it was to go through.
--
-- Guarantee: failures open the proxy's circuit for every worker, its probe closes it or opens it for longer, a wait that
-- the proxy asked for only ever moves later. Results of an older generation change nothing but that wait. The same
-- nonce gets the same answer.
--
-- KEYS  1 host string  2 leases zset (always empty)  3 lane zset  4 called zset  5 wheel zset  6 hosts zset
--       7 reply string, the answer of this nonce; TTL 60 s
--       (types and TTL as in admit.lua; 1 to 4 are the proxy's)
-- ARGV  1 host part of the proxy  2 probe|''  3 generation  4 served|throttled|neutral  5 points of a failure
--       6 cooldown until (ms; 0)  7 why, one line  8 time (ms; '': Redis TIME)  9 points max  10 open ms  11 growth
--       12 open at most ms  13 jobs called at once  14 ms the state outlives its last use
-- Reply look at|'', now, called jobs...
-- Untouched when nothing failed and nothing is known of the proxy: everything.

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include circuit
-- @include host-effect

local part, outcome, points = ARGV[1], ARGV[4], tonumber(ARGV[5])
local now = clock(ARGV[8])
local h = host_read(KEYS[1])
local failed = outcome == 'throttled'
if not h.meta.known and not failed then return { '', now } end
local said = redis.call('GET', KEYS[7])
if said then return cmsgpack.unpack(said) end

local r = {
  circuit = {
    responsesMax = tonumber(ARGV[9]), eventsMax = 0, openMs = tonumber(ARGV[10]), growth = tonumber(ARGV[11]),
    openMostMs = tonumber(ARGV[12]),
  },
}
local result = { outcome = outcome, generation = tonumber(ARGV[3]), lease = ARGV[2] }
if not h.meta.known then redis.call('ZADD', KEYS[6], 0, part) end
host_set(h, 'cap', tonumber(ARGV[13]))
host_set(h, 'keep', tonumber(ARGV[14]))
extend_cooldown(h, tonumber(ARGV[6]))
if failed then
  host_set(h, 'why', ARGV[7])
  host_set(h, 'whyAt', now)
  if h.circuit == 'closed' and result.generation == h.generation then host_set(h, 'responses', h.responses + points - 1) end
end
circuit_result(h, r, result, false, true, now)
-- A proxy has no pace of its own: its ramp is that each job that passes calls the next.
if h.pace.reopening ~= 0 then
  h.pace.reopening = 0
  h.meta.dirty = true
end
local list = {}
if h.meta.dirty then host_write(h, now) end
local keys = { leases = KEYS[2], lane = KEYS[3], called = KEYS[4], wheel = KEYS[5] }
local look_at = call_host(h, part, keys, now, 64, false, list)
local answer = { look_at or '', now }
for i = 1, #list do answer[2 + i] = list[i] end
if h.meta.dirty then redis.call('SET', KEYS[7], cmsgpack.pack(answer), 'PX', 60000) end
return answer
