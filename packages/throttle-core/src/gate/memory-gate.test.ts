import { describeGateContract } from '../testing/contract/gate-contract.ts';
import { createMemoryGate } from './memory-gate.ts';

describeGateContract('the memory gate', (clock) => createMemoryGate({ now: clock.now }));
