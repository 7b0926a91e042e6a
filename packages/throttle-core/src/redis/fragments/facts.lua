-- The ledger's view of a job for the planner, in the order decode-facts.ts reads.
local function facts(j, h, b, r)
  local host = host_tokens(h, r)
  return {
    j.a, j.r, j.x, j.f, j.t, j.d, j.n, h.noHint, h.cooldown, h.circuit ~= 'closed' and h.openUntil or 0,
    batch_tokens_left(b) or '', host and math.floor(host / 1000000) or '',
  }
end

local function reply(head, tail)
  for i = 1, #tail do head[#head + 1] = tail[i] end
  return head
end
