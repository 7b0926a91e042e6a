-- The host-wide barriers, in order: hold, circuit, cooldown, scout. Returns nil when none stands, or its cause and
-- the instant at which it can fall (nil: when the owner acts).
local function in_flight_until(leases, now)
  local live = redis.call('ZRANGEBYSCORE', leases, '(' .. string.format('%.17g', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 64)
  for i = 1, #live, 2 do
    -- A reserved slot stands under the plain job id: nothing is in flight for it.
    if string.find(live[i], '.', 1, true) then return tonumber(live[i + 1]) end
  end
  return nil
end

local function host_barrier(h, leases, now)
  if h.hold then return 'held', nil end
  if h.circuit == 'open' then
    if h.openUntil > now then return 'circuit_open', math.max(h.openUntil, h.cooldown) end
    if h.cooldown > now then return 'cooldown', h.cooldown end
    local busy = in_flight_until(leases, now)
    if busy then return 'circuit_open', busy end
    return nil
  end
  if h.circuit == 'half_open' and h.probeUntil > now then
    return 'probe_in_flight', math.max(h.probeUntil, h.cooldown)
  end
  if h.cooldown > now then return 'cooldown', h.cooldown end
  if h.pace.reopening == 1 and h.pace.scoutUntilMs > now then return 'probe_in_flight', h.pace.scoutUntilMs end
  return nil
end

-- True while the next admitted request is to be the only one: a probe, or the scout after a cooldown.
local function host_single(h)
  return h.circuit ~= 'closed' or h.pace.reopening == 1
end
