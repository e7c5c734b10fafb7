"""What each measure of a head shows and what it does not, a paragraph each, for the pages that draw them."""

MEASURES = {
    "entropy": "How widely a head spreads its weights, in nats: 0 when all weight is on one token, ln n when n tokens "
               "get the same. Clark et al. 2019 measure BERT's heads so. It says nothing about which tokens are looked "
               "at, and a head that always looks at one useless token has a low entropy too.",
    "distance": "How far away the keys are that a head looks at, in tokens, averaged by weight. In cross-attention the "
                "distance is counted from the source token that is as far into the source as the query is into the "
                "target. A mean hides its parts: half the weight next door and half far away looks like all of it in "
                "between.",
    "diagonal": "The weight on the source token that is as far into the source as the query is into the target. Two "
                "languages with similar word order make it large without the head knowing which word translates "
                "which; alignment is the measure that asks for that.",
    "itself": "The weight on the query's own token. It also absorbs what a head has nothing better to do with, and the "
              "token's vector has already taken in others below, so it is not a sign that only this word is used.",
    "previous": "The weight on the token just before the query. Voita et al. 2019 call heads positional when most of "
                "their weight lies at one such offset. In a decoder the previous token is also one of the few there "
                "are, so compare with the value of looking at all alike.",
    "next": "The weight on the token just after the query. A decoder's head cannot look there, and no value is given.",
    "same": "The weight on other places where the very same token stands, over queries that have one. Wang et al. 2023 "
            "call heads that do this in GPT-2 duplicate token heads. It counts equal pieces, not equal meanings.",
    "first": "The weight on the first token, whatever it is. Models often park weight there that should change nothing "
             "(an attention sink, Xiao et al. 2024), so a large value can mean that the head is resting.",
    "end": "The weight on the token that ends the text, [SEP] in a BERT; of cross-attention the source's. Like the "
           "first token it is often a sink: Clark et al. 2019 found that changing the weight on such tokens hardly "
           "changes what BERT predicts.",
    "punctuation": "The weight on pieces that are nothing but punctuation, over queries that can see one. Some heads "
                   "gather a clause at its comma or full stop, others only rest there; the weight does not tell which.",
    "induction": "On random tokens that are repeated, the weight on the token that followed the earlier occurrence of "
                 "the query's own: what a head must look at to continue a repetition (Olsson et al. 2022; Elhage et "
                 "al. 2021). It is measured on text without meaning, so it shows what the head can do, not how often "
                 "it does it, and it does not show that the model copies what was found.",
    "alignment": "The weight on the pieces of the source word that the target word about to be written comes from, by "
                 "a word alignment learned from counts alone (IBM Model 1, Brown et al. 1993). That alignment is "
                 "itself often wrong, above all for rare and small words, so agreement is evidence and disagreement "
                 "is little.",
    "alignment_read": "The same for the target word that was just read, not the one about to be written. Many "
                      "translation models align the word they read in some layers and the next one in others (Chen et "
                      "al. 2020).",
}

BASELINES = {
    "untrained": "The same measure on the same sentences for the same architecture with the random weights that "
                 "training starts from, of one seed. What is as large here comes from the sentences, the mask and the "
                 "architecture, and not from anything learned.",
    "even": "What a head gives that looks at all it may see alike: the same weight on each. Short sentences make most "
            "shares large by themselves; this is how large.",
}

ANALYSES = {
    "switch": "A head that is off adds nothing; one that is uniform adds the mean of all values it may look at. What "
              "changes is what the rest of the model cannot do without it. A head whose absence changes nothing may "
              "still matter: another can stand in for it (Michel et al. 2019), and later layers were not trained to "
              "work without it.",
    "loss_change": "How much worse the held-out loss gets in nats a token when one head alone is switched, with the "
                   "standard error over sentences. A change of less than about two standard errors is not told apart "
                   "from none, and with many heads some pass that by chance. Effects of single heads do not add up to "
                   "that of several.",
    "bleu_change": "How BLEU of the greedy translations changes when one head is switched, and how many translations "
                   "are other ones. BLEU moves by whole words, so on a few hundred sentences a change of a point or "
                   "two is noise; the loss is the finer measure.",
    "lens": "What the model would predict if the layers above were left out: each layer's row goes through the final "
            "norm and the output matrix (nostalgebraist 2020). Lower layers were never trained to be read like this, "
            "so an odd prediction there need not mean that the information is missing, only that it is not yet "
            "written in the output's terms (Belrose et al. 2023).",
    "direct": "How much each head, feed-forward part and embedding itself adds to the logit of a token, with the "
              "scales of the norms (what each divides by) held at what they were; the parts add up to the logit "
              "(Elhage et al. 2021). It is what a part writes straight to the output. What it changes by way of later "
              "layers is not in it, nor are the encoder's heads where there is one, so a head with no direct effect "
              "may still decide the token. A logit has no zero of its own: compare two tokens to see what tells them "
              "apart.",
    "integrated": "How much each token adds to the log-probability of the prediction, on the straight way from an "
                  "empty text to this one (integrated gradients, Sundararajan et al. 2017). The values add up to the "
                  "change but for the gap shown. They depend on what counts as empty: padding, zero or the mean "
                  "embedding give different values, and none of them is a text the model was trained on.",
    "attention": "The weight that the prediction's query puts on each token, as the mean of all layers and heads. It "
                 "says where values were taken from, not what they were or whether they mattered: attention is not "
                 "explanation (Jain and Wallace 2019).",
    "rollout": "Attention followed through the layers as if it moved whole positions and the residual connection "
               "counted half (Abnar and Zuidema 2020). Values, feed-forward parts and differences between heads are "
               "left out.",
    "correlation": "Spearman's rank correlation between two of these rankings of the same tokens: 1 if they order them "
                   "alike, 0 if they have nothing in common, -1 if they are opposite. Integrated gradients enter by "
                   "size without their sign. With a dozen tokens, values up to about 0.5 happen by chance.",
}

CLASSES = {  # instead, of a model whose texts have a class
    "loss_change": "How much worse the held-out loss gets in nats a text when one head alone is switched, with the "
                   "standard error over texts. A change of less than about two standard errors is not told apart from "
                   "none, and with many heads some pass that by chance. Effects of single heads do not add up to that "
                   "of several.",
    "lens": "What the model would decide if the layers above were left out: each layer's rows go through the final "
            "norm, are pooled, and go through the output matrix (nostalgebraist 2020). Lower layers were never trained "
            "to be read like this, so an odd class there need not mean that the information is missing, only that it "
            "is not yet written in the output's terms (Belrose et al. 2023).",
    "direct": "How much each head, feed-forward part and embedding itself adds to the logit of a class, with the "
              "scales of the norms (what each divides by) held at what they were; the parts add up to the logit "
              "(Elhage et al. 2021). It is what a part writes straight to the output, over all tokens that are pooled. "
              "What it changes by way of later layers is not in it, so a head with no direct effect may still decide "
              "the class. A logit has no zero of its own: compare two classes to see what tells them apart.",
}

EXPLAINED = MEASURES | BASELINES | ANALYSES


def explained(name: str, *, classes: bool) -> str:
    """A paragraph of `EXPLAINED`, of a model that decides on a class or one that writes tokens."""
    return CLASSES.get(name, EXPLAINED[name]) if classes else EXPLAINED[name]
