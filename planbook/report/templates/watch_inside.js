"use strict";
// What is inside an episode is asked for when it is opened.

async function insideOf(anchor) {
  const answer = await fetch(`episode/${anchor.split("-").at(-1)}`);
  return answer.ok ? answer.text() : null;
}
