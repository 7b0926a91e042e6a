-- Where to put the queue job of a waiting one: its estimated turn x 2, between 30 s and 1 day from now, never
-- after its deadline. It comes back then even if lane and wheel were lost.
local FALLBACK_LEAST_MS, FALLBACK_MOST_MS = 30000, 86400000
local SERVICE_GUESS_MS = 1000
local function fallback_at(h, place, deadline, now)
  local service = h.latency > 0 and h.latency or SERVICE_GUESS_MS
  local each = math.max(h.interval, service / math.max(1, h.cap))
  local opens = math.max(0, h.cooldown - now, h.circuit ~= 'closed' and h.openUntil - now or 0)
  local turn = h.hold and FALLBACK_MOST_MS or opens + place * each
  local at = now + math.ceil(math.min(FALLBACK_MOST_MS, math.max(FALLBACK_LEAST_MS, turn * 2)))
  if deadline > 0 then at = math.min(at, math.max(now, deadline)) end
  return at
end
