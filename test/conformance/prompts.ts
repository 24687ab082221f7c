/**
 * Owns the prompts of both fixtures, one for each prompt scenario of the conformance suite, and the
 * completion of their arguments. The one that asks is each fixture's own: the eras ask differently.
 */

import { type Content, PNG_1X1 } from './content.ts';

type Arguments = Readonly<Record<string, string>>;

/** A prompt as listed. */
export interface ListedPrompt {
  name: string;
  description: string;
  arguments?: { name: string; description: string; required: boolean }[];
}

/** What `prompts/get` answers. */
export interface Messages {
  messages: { role: 'user'; content: Content }[];
  [field: string]: unknown;
}

interface FixturePrompt {
  readonly prompt: ListedPrompt;
  readonly get: (args: Arguments) => Messages;
}

/** The prompt that asks before it answers. */
export const ASKING_PROMPT: ListedPrompt = {
  name: 'test_input_required_result_prompt',
  description: 'A prompt that asks',
};

/** Messages of the user, one for each content. */
export function fromUser(...contents: Content[]): Messages {
  return { messages: contents.map((content) => ({ role: 'user', content })) };
}

const ALL: readonly FixturePrompt[] = [
  {
    prompt: { name: 'test_simple_prompt', description: 'A prompt without arguments' },
    get: () => fromUser({ type: 'text', text: 'This is a simple prompt for testing.' }),
  },
  {
    prompt: {
      name: 'test_prompt_with_arguments',
      description: 'A prompt with two arguments',
      arguments: [
        { name: 'arg1', description: 'First test argument', required: true },
        { name: 'arg2', description: 'Second test argument', required: true },
      ],
    },
    get: ({ arg1 = '', arg2 = '' }) =>
      fromUser({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  },
  {
    prompt: {
      name: 'test_prompt_with_embedded_resource',
      description: 'A prompt that embeds a resource',
      arguments: [
        { name: 'resourceUri', description: 'URI of the resource to embed', required: true },
      ],
    },
    get: ({ resourceUri = '' }) =>
      fromUser(
        {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  },
  {
    prompt: { name: 'test_prompt_with_image', description: 'A prompt with an image' },
    get: () =>
      fromUser(
        { type: 'image', data: PNG_1X1, mimeType: 'image/png' },
        { type: 'text', text: 'Please analyze the image above.' },
      ),
  },
];

/** The prompts that only answer, by name, in the order of `prompts/list`. */
export const PROMPTS: ReadonlyMap<string, FixturePrompt> = new Map(
  ALL.map((entry) => [entry.prompt.name, entry]),
);

const SUGGESTIONS = ['paris', 'park', 'party', 'test-one', 'test-two'];

/**
 * The suggestions for an argument of a prompt.
 * @param prompt the prompt's name
 * @param value what the user typed so far
 * @returns those that start with `value`; none for a prompt without arguments
 */
export function completePrompt(prompt: string, value: string): string[] {
  if (prompt !== 'test_prompt_with_arguments') return [];
  return SUGGESTIONS.filter((suggestion) => suggestion.startsWith(value));
}
