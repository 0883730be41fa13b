document.title = "Peephole";
