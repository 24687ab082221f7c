/**
 * Owns the resources and the template of both fixtures, one for each resource scenario of
 * the conformance suite.
 */

import { PNG_1X1 } from './content.ts';

/** What is listed of a resource or a template. */
interface Listed {
  name: string;
  description: string;
  mimeType: string;
}

type Contents =
  | { uri: string; mimeType: string; text: string }
  | { uri: string; mimeType: string; blob: string };

/** What `resources/list` answers. */
export const RESOURCES: readonly (Listed & { uri: string })[] = [
  {
    uri: 'test://static-text',
    name: 'Static text',
    description: 'A text that never changes',
    mimeType: 'text/plain',
  },
  {
    uri: 'test://static-binary',
    name: 'Static binary',
    description: 'An image that never changes',
    mimeType: 'image/png',
  },
  {
    uri: 'test://watched-resource',
    name: 'Watched resource',
    description: 'A text that can be subscribed to',
    mimeType: 'text/plain',
  },
];

/** What `resources/templates/list` answers. */
export const TEMPLATES: readonly (Listed & { uriTemplate: string })[] = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'Template data',
    description: 'Data for the id in the URI',
    mimeType: 'application/json',
  },
];

const TEMPLATE_URI = /^test:\/\/template\/([^/]+)\/data$/;

/**
 * Reads a resource.
 * @param uri a URI of the list, or one that the template makes
 * @returns its contents, or undefined when there is no such resource
 */
export function readResource(uri: string): Contents | undefined {
  switch (uri) {
    case 'test://static-text':
      return {
        uri,
        mimeType: 'text/plain',
        text: 'This is the content of the static text resource.',
      };
    case 'test://static-binary':
      return { uri, mimeType: 'image/png', blob: PNG_1X1 };
    case 'test://watched-resource':
      return { uri, mimeType: 'text/plain', text: 'Watched resource content' };
    default: {
      const id = TEMPLATE_URI.exec(uri)?.[1];
      if (id === undefined) return undefined;
      const data = { id, templateTest: true, data: `Data for ID: ${id}` };
      return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
    }
  }
}
