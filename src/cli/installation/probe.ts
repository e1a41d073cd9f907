// `tollgate probe`: the health check of a gateway on this machine.
import { Argument, type Command } from 'commander';
import { readSettings, SettingsError } from '../../gateway/settings/settings.js';
import type { Question } from '../../http/probe.js';
import { duration } from '../arguments.js';
import { printing } from '../output.js';

const QUESTIONS: readonly Question[] = ['ready', 'live'];

export function addProbeCommand(program: Command): void {
  printing(
    program
      .command('probe')
      .description(
        'ask the gateway on this machine whether it can take requests (ready), or answers at all (live)',
      )
      .addArgument(new Argument('[question]').choices(QUESTIONS).default('ready'))
      .option('--within <duration>', 'ask again for so long, until the answer is yes', duration, 0),
    async (question: Question, { within }: { within: number }) => {
      const settings = readSettings();
      if (settings.port === 0) {
        throw new SettingsError('TOLLGATE_PORT is 0, any free port: nobody knows which to ask');
      }
      // Loaded only here: the other commands do not need Node's HTTP client, and start sooner.
      const { probe } = await import('../../http/probe.js');
      const reason = await probe(settings, question, within);
      if (reason !== undefined) process.exitCode = 1;
      return {
        value: { [question]: reason === undefined, ...(reason !== undefined && { reason }) },
        sentence:
          reason === undefined ? `The gateway is ${question}.` : `The gateway is not ${question}: ${reason}.`,
      };
    },
  );
}
