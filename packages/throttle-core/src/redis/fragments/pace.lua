-- The pace of one host: what the learner knows and what it means for the next dispatch.
-- Twin of core/pace.ts, core/learn-pace.ts, core/weigh-event.ts, core/failing-host.ts and core/latency-brake.ts: same operations in the same order, so that
-- the doubles are equal to the last bit. The meaning of every field and rule is written there. Calls no Redis
-- command: the script that includes it reads and writes the hash.
--
--   HMGET key, unpack(pace_fields())            -> pace_read(values)  -> pace
--   HSET  key, unpack(pace_write(pace))
--   pace_limit(rules, limit)                    -> rules with the operator's override applied
--   pace_interval(pace, rules, now)             -> ms; 0: unlimited
--   pace_opens_at(pace, now)                    -> ms; not after now: a dispatch may go
--   pace_commit(pace, rules, now)               -> 1 when the pace held the dispatch back, else 0; changes pace
--   pace_lesson(pace, outcome, current, cooldownUntilMs) -> the outcome as the learner takes it
--   pace_settle(pace, rules, result, now)       -> changes pace
--
-- rules  = { paceIntervalMs, learn = { startIntervalMs, floorIntervalMs, ceilingIntervalMs, doubleAfterSuccesses,
--            doubleAfterMs, decrease, recoveryLeastMs, recoveryPauses, recoveryMostMs } or nil,
--            ramp = { durationMs, startFraction } or nil }
-- limit  = { kind, intervalMs, floorIntervalMs or nil, ceilingIntervalMs or nil }
-- result = { outcome, current, bound, cooldownUntilMs, latencyMs, rateLimit = { remaining, untilMs } or nil, inFlight };
--          current and bound are booleans
-- cjson.decode gives cjson.null for null: pass nil instead.

local PACE_NUMBERS = {
  'intervalMs', 'ceilingMs', 'recoverFromMs', 'pressure', 'servedSinceEvent', 'rowFromMs', 'rowAtMs',
  'rowServed', 'gapMean', 'noiseGap', 'strain', 'stepAtMs', 'eventAtMs', 'pauseMs',
  'pauseMeanMs', 'nextAtMs', 'reopening', 'scoutUntilMs', 'closedAtMs', 'rampFromMs', 'rampMs', 'hintIntervalMs', 'hintUntilMs',
  'latencyMs', 'latencyBaseMs', 'latencySamples', 'brake', 'brakeSamples', 'brakeFromMs',
  'brakeShare', 'brakeIntervalMs',
}

-- Field names in the host's hash, in the order pace_read expects the values.
local function pace_fields()
  local fields = { 'pace:phase' }
  for i, name in ipairs(PACE_NUMBERS) do fields[i + 1] = 'pace:' .. name end
  return fields
end

local function pace_read(values)
  local pace = { phase = values[1] or 'slow_start' }
  for i, name in ipairs(PACE_NUMBERS) do
    pace[name] = tonumber(values[i + 1] or ((name == 'brake' or name == 'brakeShare') and 1 or 0))
  end
  return pace
end

-- 17 digits bring every double back exactly; tostring would keep 14.
local function pace_write(pace)
  local pairs_ = { 'pace:phase', pace.phase }
  for _, name in ipairs(PACE_NUMBERS) do
    pairs_[#pairs_ + 1] = 'pace:' .. name
    pairs_[#pairs_ + 1] = string.format('%.17g', pace[name])
  end
  return pairs_
end

local function pace_limit(rules, limit)
  if limit == nil or limit.kind == 'none' or limit.kind == 'reset' then return rules end
  local limited = { paceIntervalMs = rules.paceIntervalMs, learn = rules.learn, ramp = rules.ramp }
  if limit.kind == 'off' then
    limited.learn = nil
  elseif limit.kind == 'fixed' then
    limited.learn = nil
    limited.paceIntervalMs = math.max(rules.paceIntervalMs, limit.intervalMs)
  else
    local shortest = limit.ceilingIntervalMs or 0
    if rules.learn == nil then
      limited.paceIntervalMs = math.max(rules.paceIntervalMs, shortest)
    else
      limited.learn = {}
      for name, value in pairs(rules.learn) do limited.learn[name] = value end
      limited.learn.ceilingIntervalMs = math.max(rules.learn.ceilingIntervalMs, shortest)
      limited.learn.floorIntervalMs = limit.floorIntervalMs or rules.learn.floorIntervalMs
    end
  end
  return limited
end

local function pace_learned(intervalMs, learn)
  if learn == nil then return 0 end
  local wanted = intervalMs > 0 and intervalMs or learn.startIntervalMs
  local shortest = math.max(1, learn.ceilingIntervalMs)
  return math.max(shortest, math.min(wanted, learn.floorIntervalMs))
end

local function pace_given(pace, rules, now)
  return now < pace.hintUntilMs and math.max(rules.paceIntervalMs, pace.hintIntervalMs) or rules.paceIntervalMs
end

local function pace_ramp_left(pace, rules, now)
  if rules.ramp == nil then return 0 end
  return math.max(0, pace.rampFromMs + pace.rampMs - now)
end

local function pace_interval(pace, rules, now)
  local learned = pace_learned(pace.intervalMs, rules.learn) / pace.brake
  local steady = math.max(learned, pace_given(pace, rules, now))
  local left = pace_ramp_left(pace, rules, now)
  if rules.ramp == nil or left == 0 then return steady end
  local done = math.max(0, 1 - left / pace.rampMs)
  local fraction = rules.ramp.startFraction + (1 - rules.ramp.startFraction) * done
  return (steady > 0 and steady or 100) / fraction
end

local function pace_opens_at(pace, now)
  local scout = pace.reopening == 1 and pace.scoutUntilMs > now and pace.scoutUntilMs or 0
  return math.ceil(math.max(pace.nextAtMs, scout))
end

local function pace_commit(pace, rules, now)
  local interval = pace_interval(pace, rules, now)
  local late = now - pace.nextAtMs
  local bound = pace.nextAtMs > 0 and interval > 0 and late <= math.max(interval, 20)
  local from = math.max(pace.nextAtMs, now - (bound and math.min(interval * 0.1, 20) or 0))
  pace.nextAtMs = math.max(from + interval, now + (rules.paceIntervalMs >= 250 and rules.paceIntervalMs or 0))
  pace.scoutUntilMs = pace.reopening == 1 and now + 5000 or 0
  return bound and 1 or 0
end

local function pace_take_hint(pace, result, now)
  local hint = result.rateLimit
  if hint == nil or hint.untilMs <= now then return end
  if hint.remaining <= 0 then
    pace.nextAtMs = math.max(pace.nextAtMs, hint.untilMs)
    return
  end
  pace.hintIntervalMs = (hint.untilMs - now) / math.max(1, hint.remaining - result.inFlight)
  pace.hintUntilMs = hint.untilMs
end

local function pace_mean_pause(pace)
  if pace.pauseMeanMs == 0 then return pace.pauseMs end
  return (pace.pauseMeanMs + pace.pauseMs) / 2
end

local function pace_recovery(pace, learn)
  local wanted = math.max(learn.recoveryPauses * pace_mean_pause(pace), 100 * pace.ceilingMs)
  return math.max(learn.recoveryLeastMs, math.min(learn.recoveryMostMs, wanted))
end

local function pace_is_early(pace, learn, now)
  local active = now - pace.eventAtMs - pace.pauseMs
  return active <= pace.pauseMs * 2 and active < pace_recovery(pace, learn) * 0.25
end

local function pace_decreased(pace, learn, rate, early, now)
  if pace.phase == 'slow_start' then return rate * 0.5 end
  if not early then return rate * learn.decrease end
  local given = (pace.servedSinceEvent * 1000) / math.max(1, now - pace.eventAtMs)
  return math.max(rate * 0.5, math.min(rate * learn.decrease, given))
end

local function pace_close(pace, untilMs, now)
  pace.nextAtMs = math.max(pace.nextAtMs, untilMs)
  if pace.reopening ~= 1 then pace.closedAtMs = now end
  pace.reopening = 1
  pace.scoutUntilMs = 0
end

local function pace_begin_row(pace, interval, now)
  pace.rowFromMs, pace.rowAtMs, pace.rowServed, pace.gapMean = interval, now, 0, 0
  return true
end

-- Returns whether the pace is to blame for the event.
local function pace_weigh(pace, interval, now)
  local gap = pace.servedSinceEvent + 1
  local mean = pace.gapMean == 0 and gap or pace.gapMean + (gap - pace.gapMean) * (1 / 4)
  if pace.noiseGap > 0 then
    if gap > pace.noiseGap * 4 + 75 then
      pace.noiseGap = 0
      return pace_begin_row(pace, interval, now)
    end
    local denser = mean < pace.noiseGap * 0.6
    pace.gapMean = denser and pace.noiseGap or mean
    return denser
  end
  if pace.rowFromMs == 0 or gap >= 75 then return pace_begin_row(pace, interval, now) end
  pace.gapMean = mean
  pace.rowServed = pace.rowServed + pace.servedSinceEvent
  local given = (pace.rowServed * 1000) / math.max(1, now - pace.rowAtMs)
  if not (interval * 0.5 >= pace.rowFromMs and 1000 / interval <= given) then return true end
  pace.noiseGap, pace.phase, pace.pressure, pace.stepAtMs = mean, 'slow_start', 0, now
  return false
end

local function pace_throttled(pace, scouting, learn, result, now)
  if not result.current or scouting then
    if pace.eventAtMs ~= 0 then pace.pauseMs = math.max(pace.pauseMs, result.cooldownUntilMs - pace.eventAtMs) end
    return
  end
  local before = pace_learned(pace.intervalMs, learn)
  if learn == nil or before == 0 then
    pace.eventAtMs = now
    return
  end
  local blamed = pace_weigh(pace, before, now)
  local early = pace.noiseGap == 0 and pace_is_early(pace, learn, now)
  local after = pace_learned(1000 / pace_decreased(pace, learn, 1000 / before, early, now), learn)
  local pause_mean = pace_mean_pause(pace)
  local untilMs = math.max(result.cooldownUntilMs, blamed and now + 1000 or 0)
  if untilMs > result.cooldownUntilMs then pace_close(pace, untilMs, now) end
  pace.pauseMs = math.max(0, untilMs - now)
  pace.strain = 0
  pace.servedSinceEvent = 0
  pace.eventAtMs = now
  if not blamed then return end
  pace.pauseMeanMs = early and 0 or pause_mean
  pace.intervalMs = after
  pace.phase = 'steady'
  pace.ceilingMs = before
  pace.recoverFromMs = after
  pace.pressure = 0
end

local function pace_lesson(pace, outcome, current, cooldownUntilMs)
  if outcome ~= 'unavailable' then return outcome end
  if cooldownUntilMs > 0 or current and pace.reopening == 0 and pace.strain + 1 >= 3 then return 'throttled' end
  return 'unavailable'
end

local function pace_failed(pace, learn, now)
  pace.scoutUntilMs = 0
  if learn == nil or pace.latencySamples < 10 then return end
  pace.strain = pace.strain + 1
  if pace.reopening == 0 or pace.strain < 2 then return end
  local closed = math.min(60000, math.max(1000, now - pace.closedAtMs))
  pace.nextAtMs = math.max(pace.nextAtMs, now + closed)
end

local function pace_unbrake(pace, mean, base, samples)
  pace.latencyMs = mean
  pace.latencyBaseMs = base
  pace.latencySamples = samples
  pace.brake = 1
  pace.brakeSamples = 0
  pace.brakeFromMs = 0
  pace.brakeShare = 1
end

-- Returns 'none', 'pulled' or 'in_vain'.
local function pace_brake(pace, latencyMs, share)
  local samples = math.min(pace.latencySamples + 1, 17)
  if samples <= 16 then
    local mean = pace.latencyMs + (latencyMs - pace.latencyMs) / samples
    pace_unbrake(pace, mean, mean, samples)
    return 'none'
  end
  local counted = math.min(latencyMs, pace.latencyMs * 4)
  local mean = pace.latencyMs + (counted - pace.latencyMs) * (1 / 16)
  local before = pace.latencyBaseMs
  local base = before + (mean - before) * (mean < before and 1 / 16 or 1 / 512)
  local limit = base * 2 + 50
  if mean <= limit then
    pace_unbrake(pace, mean, base, samples)
    return 'none'
  end
  local pulled = pace.brakeSamples == 0
  local brakeSamples = pace.brakeSamples + 1
  local peak = math.max(mean, pace.brakeFromMs)
  local over = brakeSamples > 64
  if over and mean > peak * 0.8 then
    pace_unbrake(pace, mean, mean, samples)
    return 'in_vain'
  end
  if pulled then
    pace.brakeShare = share
  elseif brakeSamples == 33 then
    pace.brakeShare = math.min(pace.brakeShare, share)
  end
  pace.latencyMs = mean
  pace.latencyBaseMs = base
  pace.latencySamples = samples
  pace.brake = (brakeSamples <= 32 and math.max(0.25, limit / mean) or 0.5) * pace.brakeShare
  pace.brakeSamples = over and 33 or brakeSamples
  pace.brakeFromMs = over and mean or peak
  return pulled and 'pulled' or 'none'
end

local function pace_feel_latency(pace, learn, result)
  local before = pace_learned(pace.intervalMs, learn)
  local share = math.min(1, ((result.inFlight + 1) * before) / math.max(1, result.latencyMs))
  local change = pace_brake(pace, result.latencyMs, share)
  if change == 'in_vain' then
    pace.intervalMs = pace.brakeIntervalMs
    pace.brakeIntervalMs = 0
  elseif change == 'pulled' then
    local left = pace.phase == 'slow_start' and 0.5 or math.max(0.5, math.min(learn.decrease, share))
    local after = pace_learned(before / left, learn)
    pace.intervalMs = after
    pace.phase = 'steady'
    pace.ceilingMs = before
    pace.recoverFromMs = after
    pace.pressure = 0
    pace.brakeIntervalMs = before
  end
end

local function pace_open(pace, rules, result, now)
  if pace.reopening == 0 or result.cooldownUntilMs > now then return end
  pace.reopening = 0
  pace.scoutUntilMs = 0
  pace.rampFromMs = now
  pace.rampMs = rules.ramp == nil and 0 or math.min(rules.ramp.durationMs, now - pace.closedAtMs)
  pace.nextAtMs = math.max(pace.nextAtMs, now)
end

local function pace_double(pace, learn, before, now)
  local step = pace.stepAtMs == 0 and now or pace.stepAtMs
  if pace.pressure < learn.doubleAfterSuccesses or now - step < learn.doubleAfterMs + pace.latencyMs then
    pace.stepAtMs = step
    return
  end
  pace.intervalMs = pace_learned(before / 2, learn)
  pace.pressure = 0
  pace.stepAtMs = now
end

local function pace_gain(pace, learn, rate, ceiling)
  local step = (1 - learn.decrease) * ceiling
  if rate > ceiling * 1.1 then return (1 - learn.decrease) * rate * 6 end
  if rate >= ceiling then return step end
  local from = 1000 / pace.recoverFromMs
  local span = math.max(step, ceiling - from)
  if span > step * 1.5 then return span * 0.75 end
  if rate < from + span * 0.8 then return span * 4 end
  return span * 0.25
end

local function pace_climb(pace, learn, intervalMs)
  local rate = 1000 / intervalMs
  local ceiling = 1000 / pace.ceilingMs
  return rate + (pace_gain(pace, learn, rate, ceiling) / pace_recovery(pace, learn)) * intervalMs
end

local function pace_count(pace, learn, bound, now)
  pace.servedSinceEvent = pace.servedSinceEvent + 1
  if pace.phase ~= 'steady' and now - pace.stepAtMs < pace.latencyMs then return end
  if bound then
    pace.pressure = math.min(learn.doubleAfterSuccesses, pace.pressure + 1)
  else
    pace.pressure = math.max(0, pace.pressure - 1)
  end
end

local function pace_served(pace, rules, result, now)
  local learn = rules.learn
  if learn ~= nil and result.latencyMs > 0 then pace_feel_latency(pace, learn, result) end
  if not result.current then return end
  pace_open(pace, rules, result, now)
  if learn == nil then return end
  pace.strain = math.max(0, pace.strain - 1 / 8)
  pace_count(pace, learn, result.bound, now)
  local before = pace_learned(pace.intervalMs, learn)
  local free = result.bound and pace.brake == 1 and before >= pace_given(pace, rules, now)
    and pace_ramp_left(pace, rules, now) == 0
  if pace.phase == 'slow_start' then
    if free then pace_double(pace, learn, before, now) end
    return
  end
  if not free or pace.pressure * 2 < learn.doubleAfterSuccesses then return end
  pace.intervalMs = pace_learned(1000 / pace_climb(pace, learn, before), learn)
end

local function pace_settle(pace, rules, result, now)
  local scouting = pace.reopening == 1
  pace_take_hint(pace, result, now)
  if result.cooldownUntilMs > now then pace_close(pace, result.cooldownUntilMs, now) end
  if result.outcome == 'throttled' then
    pace_throttled(pace, scouting, rules.learn, result, now)
  elseif result.outcome == 'served' or result.outcome == 'permanent' then
    pace_served(pace, rules, result, now)
  elseif result.current and result.outcome == 'blocked' then
    pace_open(pace, rules, result, now)
  elseif result.current and result.outcome == 'unavailable' then
    pace_failed(pace, rules.learn, now)
  elseif result.current then
    pace.scoutUntilMs = 0
  end
end
