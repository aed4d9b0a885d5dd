import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed } from './embed.ts';
import { bounds, explainIgnoredAction, explainMissing, type Fields, lineAt, linkAt, numberAt, objectAt, stringAt } from './payload.ts';
import { type CommonFacts, readCommonFacts } from './subject.ts';

/** The facts about a finished workflow run. */
export interface WorkflowRunFacts extends CommonFacts {
  event: 'workflow_run';
  state: 'succeeded' | 'failed' | 'cancelled';
  /** Why it failed, if it timed out or could not start; else empty. */
  reason: string;
  name: string;
  number: number | null;
  branch: string;
  /** What the run was for, such as the first line of a commit message. */
  about: string;
  url: string | null;
}

/** The conclusions that are posted. Skipped, neutral, stale and unknown ones are not. */
const conclusions = new Map<string, Pick<WorkflowRunFacts, 'state' | 'reason'>>([
  ['success', { state: 'succeeded', reason: '' }],
  ['failure', { state: 'failed', reason: '' }],
  ['timed_out', { state: 'failed', reason: 'timed out' }],
  ['startup_failure', { state: 'failed', reason: 'could not start' }],
  ['cancelled', { state: 'cancelled', reason: '' }],
]);
const colorByState = { succeeded: colors.success, failed: colors.failed, cancelled: colors.cancelled };

/**
 * Reads a `workflow_run`. Only completed runs are posted (GitHub, and Gitea from 1.24). A run may have no name of its own; then the name or path of its
 * workflow is used.
 */
export function readWorkflowRun(payload: Fields): WorkflowRunFacts | string {
  if (stringAt(payload, 'action') !== 'completed') return explainIgnoredAction('workflow_run', payload);
  const run = objectAt(payload, 'workflow_run');
  if (run === null) return explainMissing('workflow_run');
  const found = conclusions.get(stringAt(run, 'conclusion'));
  if (!found) return `a run with conclusion \`${lineAt(run, bounds.action, 'conclusion') || 'unknown'}\` is not posted`;
  return {
    event: 'workflow_run',
    ...readCommonFacts(payload, 'workflow_run.triggering_actor', 'workflow_run.actor'),
    ...found,
    name: lineAt(run, bounds.title, 'name') || lineAt(payload, bounds.title, 'workflow.name') || lineAt(run, bounds.title, 'path'),
    number: numberAt(run, 'run_number'),
    branch: lineAt(run, bounds.branch, 'head_branch'),
    about: lineAt(run, bounds.title, 'display_title', 'head_commit.message'),
    url: linkAt(run, 'html_url'),
  };
}

/** The post of a finished workflow run. */
export function renderWorkflowRun(facts: WorkflowRunFacts): Embed {
  const { state, reason, name, number, branch, url } = facts;
  const run = [name, number === null ? '' : `#${number}`].filter((part) => part !== '').join(' ');
  const title = `Workflow ${state}${run === '' ? '' : `: ${run}`}${reason === '' ? '' : ` (${reason})`}`;
  return createEmbed(facts, { branch, title, url, color: colorByState[state], body: facts.about === name ? '' : facts.about });
}
