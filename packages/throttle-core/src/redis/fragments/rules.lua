-- The numbers of a host's policy, in the order `encodeRules` (encode-rules.ts) writes them, from ARGV[first].
-- `learn`, `ramp`, `circuit` and `hostTokens` are off when their first number is absent ('').
local function read_rules(i)
  local n, v = tonumber, ARGV
  local r = {
    cap = n(v[i]), paceIntervalMs = n(v[i + 1]), keep = n(v[i + 11]) or 0,
    tokenPerSuccess = n(v[i + 19]), tokenCap = n(v[i + 20]), tokenStart = n(v[i + 21]),
    attemptMs = n(v[i + 22]), headroomMs = n(v[i + 23]), leaseMarginMs = n(v[i + 24]), inlineMaxMs = n(v[i + 25]),
  }
  if v[i + 2] ~= '' then
    r.learn = {
      startIntervalMs = n(v[i + 2]), floorIntervalMs = n(v[i + 3]), ceilingIntervalMs = n(v[i + 4]),
      doubleAfterSuccesses = n(v[i + 5]), doubleAfterMs = n(v[i + 6]), decrease = n(v[i + 7]),
      recoveryLeastMs = n(v[i + 8]), recoveryPauses = n(v[i + 9]), recoveryMostMs = n(v[i + 10]),
    }
  end
  if v[i + 14] ~= '' then
    r.responsesMax, r.eventsMax, r.openMs = n(v[i + 12]), n(v[i + 13]), n(v[i + 14])
    r.growth, r.openMost = n(v[i + 15]), n(v[i + 16])
  end
  if v[i + 17] ~= '' then r.ramp = { durationMs = n(v[i + 17]), startFraction = n(v[i + 18]) } end
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
