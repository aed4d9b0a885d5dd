import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { may } from '../../state/rights.ts';
import { type ChannelContext, mayWrite } from '../channel-context.ts';
import { CommandForm } from './command-form.tsx';
import './composer.css';
import { draftFilesOf, draftOf } from './composer-drafts.ts';
import { EditBar } from './composer-edit.tsx';
import { ComposerForm } from './composer-form.tsx';
import { ArchivedNote, CannotWrite } from './composer-notes.tsx';
import { ReplyBar } from './composer-reply.tsx';
import { replying } from './composing.ts';
import { UploadChips } from './upload-chips.tsx';
import { useDropTarget } from './upload-drop.ts';

/** The composer: a message with files, or the options of a command. Users who cannot write here see the reason. */
export function Composer({ context }: { context: ChannelContext }): JSX.Element {
  const { channelId, serverId, channel } = context;
  const draft = draftOf(channelId);
  const { files } = draft;
  const canWrite = mayWrite(context);
  const mayAttach = canWrite && may('Attach Files', serverId, channel);
  const hadCommandForm = useRef(false);
  const section = useRef<HTMLElement>(null);
  const original = replying.value.get(channelId);
  const commandForm = draft.commandForm.value;
  const add = (more: readonly File[]): void => {
    files.value = [...files.value, ...draftFilesOf(more)];
  };
  const remove = (id: string): void => {
    files.value = files.value.filter((one) => one.id !== id);
    // The focused button disappears with the file, so the focus moves to the text area.
    section.current?.querySelector('textarea')?.focus();
  };
  const isOver = useDropTarget(mayAttach && !commandForm, add);
  // Each new reply pings by default, whatever was chosen for the previous one.
  useEffect(() => {
    draft.isPinging.value = true;
  }, [original?.id]);
  if (!canWrite)
    return (
      <section class="composer" aria-label="Write a message">
        <CannotWrite context={context} />
      </section>
    );
  return (
    <section ref={section} class="composer" aria-label="Write a message">
      {isOver && (
        <div class="upload-overlay" aria-hidden="true">
          <p>Drop files here to attach them</p>
        </div>
      )}
      <ArchivedNote context={context} />
      {commandForm ? (
        <CommandForm
          context={context}
          draft={draft}
          form={commandForm}
          onDone={() => {
            hadCommandForm.current = true;
          }}
        />
      ) : (
        <>
          <EditBar context={context} draft={draft} />
          {original && <ReplyBar original={original} draft={draft} />}
          <UploadChips files={files.value} onRemove={remove} />
          <ComposerForm context={context} draft={draft} mayAttach={mayAttach} takesFocus={hadCommandForm.current} onFiles={add} />
        </>
      )}
    </section>
  );
}
