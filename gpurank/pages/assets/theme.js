// Light or dark: the reader's system decides until the button is used. The choice holds for this
// page only, because files opened from a disk share one storage.
const root = document.documentElement;
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
const labelButton = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };
themeButton.hidden = false;
themeButton.setAttribute("aria-label", "Switch between light and dark");
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  labelButton();
});
systemDark.addEventListener("change", labelButton);
labelButton();
const here = document.querySelector("nav [aria-current]");
if (here) here.closest("nav").scrollLeft = here.offsetLeft - here.closest("nav").offsetLeft - 60;
