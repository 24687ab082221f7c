/**
 * Owns the one skill of the modern fixture (SEP-2640), with a subdirectory, as its scenarios want it.
 * The SDK serves it.
 */

import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills';

const SKILL = `---
name: greeting
description: How to greet somebody by name
---

Read references/formal.md for formal occasions.
`;

/** That skill, to be attached to servers. */
export const SKILLS = await SkillsExtension.load(
  memorySkillFiles({
    'greeting/SKILL.md': SKILL,
    'greeting/references/formal.md': 'Good day, NAME.\n',
  }),
);
