import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { may } from '../../state/rights.ts';
import { mayWrite, type Place } from '../place.ts';
import { CommandForm } from './command-form.tsx';
import './composer.css';
import { draftOf, picked } from './composer-drafts.ts';
import { ComposerForm } from './composer-form.tsx';
import { ArchivedNote, CannotWrite } from './composer-notes.tsx';
import { ReplyBar } from './composer-reply.tsx';
import { replying } from './composing.ts';
import { UploadChips } from './upload-chips.tsx';
import { useDropTarget } from './upload-drop.ts';

/** The composer: a message with files, or the options of a command. Users who cannot write here see the reason. */
export function Composer({ place }: { place: Place }): JSX.Element {
  const { channelId, serverId, channel } = place;
  const draft = draftOf(channelId);
  const { files } = draft;
  const writes = mayWrite(place);
  const mayAttach = writes && may('Attach Files', serverId, channel);
  const wasFilling = useRef(false);
  const section = useRef<HTMLElement>(null);
  const original = replying.value.get(channelId);
  const filling = draft.filling.value;
  const add = (more: readonly File[]): void => {
    files.value = [...files.value, ...picked(more)];
  };
  const remove = (id: string): void => {
    files.value = files.value.filter((one) => one.id !== id);
    // The focused button disappears with the file, so the focus moves to the text area.
    section.current?.querySelector('textarea')?.focus();
  };
  const isOver = useDropTarget(mayAttach && !filling, add);
  // Each new reply pings by default, whatever was chosen for the previous one.
  useEffect(() => {
    draft.pings.value = true;
  }, [original?.id]);
  if (!writes)
    return (
      <section class="composer" aria-label="Write">
        <CannotWrite place={place} />
      </section>
    );
  return (
    <section ref={section} class="composer" aria-label="Write">
      {isOver && (
        <div class="upload-overlay" aria-hidden="true">
          <p>Drop files here to send them</p>
        </div>
      )}
      <ArchivedNote place={place} />
      {filling ? (
        <CommandForm
          place={place}
          draft={draft}
          filling={filling}
          onDone={() => {
            wasFilling.current = true;
          }}
        />
      ) : (
        <>
          {original && <ReplyBar original={original} draft={draft} />}
          <UploadChips files={files.value} onRemove={remove} />
          <ComposerForm place={place} draft={draft} mayAttach={mayAttach} takesFocus={wasFilling.current} onFiles={add} />
        </>
      )}
    </section>
  );
}
