// Elements. In: a tag, attributes and children. Out: an element of HTML or SVG.
//
// Attributes: `text` is the text inside; `on…` is a listener; `style` and `dataset` are objects;
// true is an attribute without a value; false, null and undefined leave it out.

export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

export function clear(node) {
  node.replaceChildren();
  return node;
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name === 'value') node.value = value;
    else if (name === 'dataset') Object.assign(node.dataset, value);
    else if (name === 'style') setStyle(node, value);
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// By property: the page's policy forbids style attributes.
function setStyle(node, properties) {
  for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
}
