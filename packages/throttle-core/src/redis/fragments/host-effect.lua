-- What one result teaches the host. All 429s admitted in one epoch are one event; the first of them starts the next.
-- A 503 that names a wait, or the third bare one, says "less" as a 429 does; for circuit and tokens it remains a
-- server that cannot serve.

-- Only ever later. Returns whether it moved.
local function extend_cooldown(h, until_ms)
  if until_ms <= h.cooldown then return false end
  host_set(h, 'cooldown', until_ms)
  if h.circuit == 'open' and h.openUntil < until_ms then host_set(h, 'openUntil', until_ms) end
  return true
end

-- What a late result may still do: close the host for longer.
local function close_late(h)
  h.meta.dirty = true
  h.pace.nextAtMs = math.max(h.pace.nextAtMs, h.cooldown)
  h.pace.reopening, h.pace.scoutUntilMs = 1, 0
end

local function apply_host_effect(h, r, j, result, now)
  h.meta.dirty = true
  local current = result.epoch == h.epoch
  local lesson = pace_lesson(h.pace, result.outcome, current, result.cooldown)
  local event = lesson == 'throttled' and current
  local serving = SERVING[result.outcome]
  local limited = pace_rules(r, h.override)
  pace_settle(h.pace, limited, {
    outcome = lesson, current = current, bound = result.bound, cooldownUntilMs = h.cooldown,
    latencyMs = result.latencyMs, rateLimit = result.rateLimit, inFlight = result.inFlight,
  }, now)
  if event then
    host_set(h, 'epoch', h.epoch + 1)
    host_set(h, 'noHint', result.noHint and h.noHint + 1 or 0)
  elseif serving and current then
    host_set(h, 'noHint', 0)
  end
  circuit_result(h, r, result, event, current, now)
  if serving and r.tokens and j.a == 1 and result.purpose == 'a' then
    host_set(h, 'tokens', math.min(r.tokens.cap, host_tokens(h, r) + r.tokens.perSuccess))
  end
  local took = now - j.ad
  host_set(h, 'latency', h.latency > 0 and h.latency * 0.8 + took * 0.2 or took)
  host_set(h, 'interval', pace_interval(h.pace, limited, now))
  if result.hold ~= '' then hold_host(h, result.hold, 'policy', now) end
end
