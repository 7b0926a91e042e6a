-- What one result does to its job: returns when its queue entry is due and why it waits ('' when it does not).
local REDELIVERIES_MOST = 3

local function apply_job_effect(j, h, b, r, e)
  local kind, now = e.kind, e.now
  if kind == 'done' or kind == 'stop' then
    end_job(j, b, e.job, e.prefix, e.trail, now, kind == 'done' and 'done' or e.reason, e.evidence, e.keepMs)
    return '', ''
  end
  if e.purpose ~= 'r' then j.lt = e.throttled and 1 or nil end
  local due, cause = '', ''
  if kind == 'continue' then
    if e.purpose ~= 'r' then
      if not e.uncounted then
        j.c = 1
      elseif j.u < REDELIVERIES_MOST then
        j.c, j.u = 2, j.u + 1
      end
    end
    if e.notBefore > 0 then
      due, cause = math.max(now, e.notBefore), 'not_before'
      j.n = e.notBefore
    end
  elseif kind == 'retry_at' or kind == 'defer' then
    due, cause = math.max(now, e.notBefore), 'not_before'
    j.n = e.notBefore
    if kind == 'defer' then
      j.f, j.r, j.x = j.f + 1, j.r + 1, nil
      b.deferrals = b.deferrals + 1
      if j.aw ~= 1 then b.away, j.aw = b.away + 1, 1 end
    elseif e.throttled then
      j.x = j.x + 1
    end
    if kind == 'retry_at' and e.uncounted then j.c = 2 end
    if kind == 'retry_at' and e.inPlace then
      j.rs, j.rh = due + r.leaseMarginMs, e.part
      redis.call('ZADD', e.leases, j.rs, e.job)
    end
  elseif kind == 'release' then
    -- It is on its way back already: it keeps its place and is not called from the lane.
    due, cause = now, 'turn'
    redis.call('ZADD', e.called, now + CALL_AGAIN_MS, e.job)
    redis.call('PEXPIRE', e.called, CALLED_TTL_MS)
  elseif kind == 'hold' then
    redis.call('ZADD', e.lane, lane_score(j), e.job)
    due, cause = fallback_at(h, redis.call('ZRANK', e.lane, e.job), j.d, now), 'held'
    j.wl = e.part
  end
  j.l, j.w, j.wu, j.tr = nil, cause, due ~= '' and due or nil, 1
  packed_write(j)
  trail(e.trail, now, kind, e.evidence)
  return due, cause
end
