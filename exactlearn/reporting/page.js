"use strict";
// Pictures: zoom, drag, the details of a box on hover, focus, click and tap.
for (const picture of document.querySelectorAll(".picture")) {
  const canvas = picture.querySelector(".canvas"), svg = picture.querySelector("svg");
  const panel = picture.querySelector(".panel"), boxes = [...picture.querySelectorAll(".box")];
  if (!svg) continue;
  const [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
  let scale = 1;
  const zoom = (wanted) => {
    const [x, y] = [canvas.scrollLeft + canvas.clientWidth / 2, canvas.scrollTop + canvas.clientHeight / 2];
    const before = scale;
    scale = Math.min(4, Math.max(0.1, wanted));
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    canvas.scrollLeft = x * scale / before - canvas.clientWidth / 2;
    canvas.scrollTop = y * scale / before - canvas.clientHeight / 2;
  };
  const highest = parseFloat(getComputedStyle(canvas).maxHeight);
  const fit = () => Math.min(1.15, canvas.clientWidth / width, highest / height);
  for (const button of picture.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => zoom(+button.dataset.zoom ? scale * +button.dataset.zoom : fit()));
  // Smaller letters cannot be read, but on the fine screen of a phone: a larger picture scrolls.
  zoom(Math.max(devicePixelRatio > 1 ? 0.35 : 0.5, fit()));
  canvas.scrollTo((canvas.scrollWidth - canvas.clientWidth) / 2, (canvas.scrollHeight - canvas.clientHeight) / 2);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(scale * (event.deltaY < 0 ? 1.1 : 0.9));
  }, { passive: false });

  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons === 1) canvas.scrollBy(-event.movementX, -event.movementY);
  });

  const show = (box) => {
    const own = picture.querySelector(`template[data-for="${box.dataset.box}"]`);
    for (const other of boxes) other.classList.toggle("on", other === box);
    for (const arc of picture.querySelectorAll(".arc"))
      arc.classList.toggle("on", arc.dataset.arc.split(" ").includes(box.dataset.box));
    svg.classList.add("dim");
    if (!own) return;
    panel.hidden = false;
    panel.replaceChildren(own.content.cloneNode(true));
  };
  // The picture is one Tab stop: arrow keys go on to the nearest box on that side.
  const enter = (box) => {
    for (const other of boxes) other.setAttribute("tabindex", other === box ? "0" : "-1");
  };
  const middle = (box) => {
    const { x, y, width, height } = box.getBBox();
    return [x + width / 2, y + height / 2];
  };
  const sides = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const nearest = (box, [right, down]) => {
    const [x, y] = middle(box);
    const distance = (other) => {
      const [dx, dy] = [middle(other)[0] - x, middle(other)[1] - y];
      const ahead = dx * right + dy * down;
      return ahead > 1 ? ahead + 3 * Math.abs(dx * down + dy * right) : Infinity;
    };
    const best = boxes.reduce((a, b) => distance(b) < distance(a) ? b : a);
    return distance(best) < Infinity ? best : box;
  };
  if (boxes.length) {
    canvas.removeAttribute("tabindex");
    enter(boxes[0]);
  }
  for (const box of boxes) {
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", [...box.querySelectorAll("tspan")].map((line) => line.textContent).join(" "));
    box.addEventListener("focus", () => { enter(box); show(box); });
    box.addEventListener("keydown", (event) => {
      if (!(event.key in sides)) return;
      event.preventDefault();
      nearest(box, sides[event.key]).focus();
    });
    box.addEventListener("click", () => show(box));
    box.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse" && !event.buttons) show(box); });
  }
  canvas.addEventListener("pointerleave", () => svg.classList.remove("dim"));
  svg.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    svg.classList.remove("dim");
    for (const one of picture.querySelectorAll(".on")) one.classList.remove("on");
    panel.hidden = true;
  });
  picture.querySelector(".find").addEventListener("change", (event) => {
    const wanted = event.target.value.toLowerCase();
    const box = boxes.find((one) => one.querySelector("tspan").textContent.toLowerCase() === wanted);
    if (!box) return;
    zoom(Math.max(0.8, scale));
    box.scrollIntoView({ block: "center", inline: "center" });
    box.focus();
  });
}

// Tables: sorted by a click on a head, filtered by text.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent;
      const numbers = [...body.rows].every((row) => text(row) === "" || !isNaN(parseFloat(text(row))));
      const order = (a, b) => numbers
        ? (parseFloat(text(a)) || 0) - (parseFloat(text(b)) || 0) : text(a).localeCompare(text(b));
      body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * order(a, b)));
    });
  });
  if (body.rows.length < 12) continue;
  const filter = document.createElement("input");
  filter.type = "search";
  filter.className = "filter";
  filter.placeholder = "Filter rows";
  filter.setAttribute("aria-label", "Filter rows");
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(filter);
}
