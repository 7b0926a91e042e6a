-- The numbers of a host's policy, as `encodeRules` (encode-rules.ts) writes them: cap, paceIntervalMs, keepMs, attemptMs,
-- headroomMs, leaseMarginMs, inlineMaxMs, and the tables learn, circuit, ramp and tokens (micro-tokens), each missing
-- while it is off.

-- The owner's override as pace_limit takes it, from its stored text (pace-override.ts).
local function pace_rules(r, override)
  if not override or override == '' then return r end
  local kind, first, second = string.match(override, '^(%a+):?([^:]*):?([^:]*)$')
  local number = tonumber(first)
  return pace_limit(r, {
    kind = kind, intervalMs = number, floorIntervalMs = kind == 'bounds' and number or nil, ceilingIntervalMs = tonumber(second),
  })
end
