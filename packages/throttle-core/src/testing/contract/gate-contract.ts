import { describe } from 'vitest';
import type { Gate } from '../../gate/gate.ts';
import { GateFixture } from '../gate-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { describeAdmission } from './admission.ts';
import { describeBatches } from './batches.ts';
import { describeCircuit } from './circuit.ts';
import { describeEntering } from './entering.ts';
import { describeHosts } from './hosts.ts';
import { describeLanes } from './lanes.ts';
import { describeLedger } from './ledger.ts';
import type { Fixture } from './fixture.ts';
import { describeProxies } from './proxies.ts';
import { describeRepeats } from './repeats.ts';

export type MakeGate = (clock: ManualClock) => Gate;

/** What every gate must do, whatever keeps its state. */
export function describeGateContract(name: string, makeGate: MakeGate): void {
  const fixture: Fixture = () => {
    const clock = new ManualClock();
    return new GateFixture(makeGate(clock), clock);
  };
  describe(`gate contract: ${name}`, () => {
    describeEntering(fixture);
    describeAdmission(fixture);
    describeLanes(fixture);
    describeHosts(fixture);
    describeCircuit(fixture);
    describeProxies(fixture);
    describeLedger(fixture);
    describeBatches(fixture);
    describeRepeats(fixture);
  });
}
