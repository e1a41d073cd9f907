// `tollgate serve`: runs the gateway.
import type { Command } from 'commander';
import { readSettings } from '../../gateway/settings/settings.js';
import { outputMayBreak } from '../broken-output.js';
import { jsonOption } from '../output.js';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the gateway')
    .addOption(jsonOption())
    .action(async (options) => {
      const settings = readSettings();
      // Loaded only here: the other commands need neither the HTTP server nor the calendar, and start in half the time.
      const { serve } = await import('../../gateway/serve.js');
      outputMayBreak();
      await serve(settings, options);
    });
}
