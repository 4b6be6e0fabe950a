// Before anything is drawn, so that a page that was left dark does not flash white.
try {
  const theme = localStorage.getItem("sparseauc-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing for pages from disk: the page follows the system.
}
