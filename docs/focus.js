// Code that is wider than a phone scrolls by itself, so keys must reach it. The theme lets them only where there is a mouse.
document.querySelectorAll("pre > code").forEach((code) => {
  const reach = () => {
    if (code.scrollWidth > code.clientWidth && !code.hasAttribute("tabindex")) code.tabIndex = 0;
  };
  new ResizeObserver(reach).observe(code);
  new MutationObserver(reach).observe(code, { attributeFilter: ["tabindex"] });
});
