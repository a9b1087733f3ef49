// The views of the page, in the order of their tabs. Python's page/views.py says which of them a run
// has.
//
// A view is an object:
//   name, title, about   its name in addresses; what its tab says; one plain sentence shown above it
//   ownInput             true where it does without the page's input; may be left out
//   aboutSeries          that sentence where the input is a series; may be left out
//   working              what it does while nothing is to be seen; may be left out
//   applies(run)         whether this run has it
//   show(root, context)  fills the empty element `root`; may be async; throws Error(one line)
// A view may register key handlers on `root`. The context:
//   run, text            the answer `run`; the input
//   sound                the <audio> of an input that can be heard, else null
//   params               URLSearchParams of the view's own parameters
//   ask(name, params)    an answer of Python's
//   set(params)          changes parameters in the address; null leaves one out
//   go(params)           the same, and shows the page anew; `view` and `text` may be among them.
//                        The focus returns to the control with the same id.
//   signal               aborted when the view is left or shown anew
//
// A saved page joins all modules into one script. So that a few lines of Python can do it, modules
// only use `import { a, b as c } from './x.js';` and `export` before const, function and class.

import { ahead } from './views/ahead.js';
import { attention } from './views/attention.js';
import { gradients } from './views/gradients.js';
import { neighbours } from './views/neighbours.js';
import { ngrams } from './views/ngrams.js';
import { playing } from './views/playing.js';
import { picture } from './views/picture.js';
import { positions } from './views/positions.js';
import { saliency } from './views/saliency.js';
import { training } from './views/training.js';
import { transcript } from './views/transcript.js';
import { unrolled } from './views/unrolled.js';
import { writing } from './views/writing.js';

export const VIEWS = [
  ahead, picture, transcript, writing, playing, unrolled, attention, saliency, gradients, ngrams, positions, neighbours, training,
];
