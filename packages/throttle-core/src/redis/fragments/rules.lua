-- The numbers of a host's policy, in the order `encodeRules` (encode-rules.ts) writes them, from ARGV[first].
-- `learn`, `ramp`, `circuit` and `hostTokens` are off when their first number is absent ('').
local function read_rules(first)
  local i = first - 1
  local function take()
    i = i + 1
    return tonumber(ARGV[i])
  end
  local r = { cap = take(), paceIntervalMs = take() }
  local learn = {
    startIntervalMs = take(), floorIntervalMs = take(), ceilingIntervalMs = take(), doubleAfterSuccesses = take(),
    doubleAfterMs = take(), decrease = take(), recoveryLeastMs = take(), recoveryPauses = take(), recoveryMostMs = take(),
  }
  if learn.startIntervalMs then r.learn = learn end
  r.keep = take() or 0
  r.responsesMax, r.eventsMax, r.openMs, r.growth, r.openMost = take(), take(), take(), take(), take()
  local ramp = { durationMs = take(), startFraction = take() }
  if ramp.durationMs then r.ramp = ramp end
  r.tokenPerSuccess, r.tokenCap, r.tokenStart = take(), take(), take()
  r.attemptMs, r.headroomMs, r.leaseMarginMs, r.inlineMaxMs = take(), take(), take(), take()
  return r
end

-- The owner's override as pace_limit takes it, from its stored text (pace-override.ts).
local function pace_rules(r, override)
  if not override or override == '' then return r end
  local kind, first, second = string.match(override, '^(%a+):?([^:]*):?([^:]*)$')
  local number = tonumber(first)
  return pace_limit(r, {
    kind = kind, intervalMs = number, floorIntervalMs = kind == 'bounds' and number or nil, ceilingIntervalMs = tonumber(second),
  })
end
