// Tables of the leaderboard: a click on a heading, or Enter, sorts by its column; another one turns the order.
document.querySelectorAll("article table").forEach((table) => {
  table.querySelectorAll("thead th").forEach((heading, column) => {
    heading.tabIndex = 0;
    heading.style.cursor = "pointer";
    const sort = () => {
      const rising = heading.getAttribute("aria-sort") === "descending";
      const body = table.tBodies[0];
      const value = (row) => row.cells[column].textContent.trim().replace(/^[≤<] /, "").replace("−", "-");
      const compare = (a, b) => {
        const [x, y] = [parseFloat(value(a)), parseFloat(value(b))];
        if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
        if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? -1 : 1; // texts and dashes last
        return value(b).localeCompare(value(a));
      };
      const rows = [...body.rows].sort((a, b) => (rising ? compare(a, b) : compare(b, a)));
      body.append(...rows);
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sort();
      }
    });
  });
});
