-- What one result does to its job: returns when its queue entry is due and why it waits ('' when it does not).
local function apply_job_effect(j, h, r, e)
  local kind, now = e.kind, e.now
  if kind == 'done' or kind == 'stop' then
    local finish = kind == 'done' and 'done' or e.reason
    end_job(j, e.job, e.prefix, e.trail, now, finish, e.nonce, e.evidence, e.keepMs)
    batch_end_fields(j, finish, e.add)
    return '', ''
  end
  local out = { 'l', '', 'rq', j.rq, 'by', j.by, 'tr', 1 }
  local function set(field, value)
    out[#out + 1] = field
    out[#out + 1] = value
  end
  local due, cause = '', ''
  if kind == 'continue' then
    if e.purpose ~= 'r' then set('c', 1) end
  elseif kind == 'retry_at' or kind == 'defer' then
    due, cause = math.max(now, e.notBefore), 'not_before'
    set('n', e.notBefore)
    if kind == 'defer' then
      set('f', j.f + 1)
      set('r', j.r + 1)
      set('x', 0)
      e.add('deferrals', 1)
    elseif e.throttled then
      set('x', j.x + 1)
    end
    if kind == 'retry_at' and e.inPlace then
      local reserved_until = due + r.leaseMarginMs
      redis.call('ZADD', e.leases, reserved_until, e.job)
      set('rs', reserved_until)
      set('rh', e.part)
    end
  elseif kind == 'release' then
    -- It is on its way back already: it keeps its place and is not called from the lane.
    due, cause = now, 'turn'
    redis.call('ZADD', e.called, now + CALL_AGAIN_MS, e.job)
    redis.call('PEXPIRE', e.called, CALLED_TTL_MS)
  elseif kind == 'hold' then
    redis.call('ZADD', e.lane, lane_score(j), e.job)
    due, cause = fallback_at(h, redis.call('ZRANK', e.lane, e.job), j.d, now), 'held'
    set('wl', e.part)
  end
  set('w', cause)
  set('wu', due == '' and 0 or due)
  redis.call('HSET', j.key, unpack(out))
  trail(e.trail, now, kind, e.evidence)
  return due, cause
end
