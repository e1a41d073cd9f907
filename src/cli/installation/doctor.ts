// `tollgate doctor`: everything that an operator would check, one line each.
import type { Command } from 'commander';
import { printing } from '../output.js';

export function addDoctorCommand(program: Command): void {
  printing(
    program
      .command('doctor')
      .description(
        'look at everything that an operator would check, and change nothing; exit code 1 where something failed',
      ),
    async () => {
      // Loaded only here: the other commands need neither certificates nor the calendar.
      const { examine } = await import('../../gateway/doctor/doctor.js');
      const findings = await examine();
      const count = (wanted: string) => findings.filter(({ result }) => result === wanted).length;
      if (count('failed') > 0) process.exitCode = 1;
      const warnings = count('warning') === 1 ? 'warning' : 'warnings';
      const width = Math.max(...findings.map(({ check }) => check.length));
      const lines = findings.map(
        ({ check, result, found, todo }) =>
          `${result.padEnd(11)}  ${check.padEnd(width)}  ${found}${todo === undefined ? '' : ` → ${todo}`}`,
      );
      return {
        value: { failed: count('failed'), warnings: count('warning'), findings },
        sentence: [...lines, `${count('failed')} failed, ${count('warning')} ${warnings}.`].join('\n'),
      };
    },
  );
}
