-- The circuit, fed with the results of the current generation only (core/circuit.ts is its twin).
local function circuit_open(h, r, now)
  host_set(h, 'circuit', 'open')
  host_set(h, 'generation', h.generation + 1)
  host_set(h, 'opens', h.opens + 1)
  -- Multiplied step by step: two languages' powers differ in the last bit.
  local rule = r.circuit
  local open_ms = rule.openMs
  for _ = 2, math.min(30, h.opens) do open_ms = math.min(rule.openMostMs, open_ms * rule.growth) end
  host_set(h, 'openUntil', math.max(now + math.ceil(math.min(rule.openMostMs, open_ms)), h.cooldown))
  host_set(h, 'responses', 0)
  host_set(h, 'events', 0)
  host_set(h, 'probe', '')
  host_set(h, 'probeUntil', 0)
  -- The probe is the scout: when it comes back well, the ramp begins.
  h.pace.reopening, h.pace.scoutUntilMs = 1, 0
end

local function circuit_close(h)
  host_set(h, 'circuit', 'closed')
  host_set(h, 'generation', h.generation + 1)
  host_set(h, 'opens', 0)
  host_set(h, 'openUntil', 0)
  host_set(h, 'responses', 0)
  host_set(h, 'events', 0)
  host_set(h, 'probe', '')
  host_set(h, 'probeUntil', 0)
end

local SERVING = { served = true, permanent = true }

-- `event`: the first 429 of its epoch. `current`: the request was admitted in the current epoch.
local function circuit_result(h, r, result, event, current, now)
  if result.generation ~= h.generation then return end
  if h.circuit == 'half_open' then
    if h.probe ~= result.lease then return end
    if SERVING[result.outcome] then
      circuit_close(h)
    elseif result.outcome == 'neutral' or result.outcome == 'blocked' then
      host_set(h, 'probe', '')
      host_set(h, 'probeUntil', 0)
    elseif r.circuit then
      circuit_open(h, r, now)
    end
    return
  end
  if h.circuit ~= 'closed' or not r.circuit then return end
  if result.outcome == 'throttled' then
    host_set(h, 'responses', h.responses + 1)
    if event then host_set(h, 'events', h.events + 1) end
    if h.responses >= r.circuit.responsesMax or (r.circuit.eventsMax > 0 and h.events >= r.circuit.eventsMax) then circuit_open(h, r, now) end
  elseif SERVING[result.outcome] and current then
    host_set(h, 'responses', 0)
    host_set(h, 'events', 0)
  end
end
