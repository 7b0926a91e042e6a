import type { CreateBatchRequest } from '../../gate/gate.ts';
import { encodeBatchDefaults } from '../batch-defaults.ts';
import { loadScript } from '../load-script.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('create-batch');

export async function createBatch(
  context: ScriptContext,
  request: CreateBatchRequest,
): Promise<'created' | 'exists'> {
  const { names } = context;
  const created = await context.run(
    script,
    [names.batch(request.batch), names.batches],
    [request.batch, context.time(), ...encodeBatchDefaults(request.defaults)],
  );
  return created === 1 ? 'created' : 'exists';
}
