"""2. The missing prior of the vanilla bootstrap (Section 3.2).

Find numbers of clicks and impressions of two ads for which the bootstrap shows Ad_B with a
probability below one in a thousand, so that it will hardly ever learn more of it, while a guided
bootstrap (alpha = 1) shows Ad_B more than half of the time. How little has to be known of Ad_B?
`run_arms.chance_to_win` computes both probabilities exactly.
"""
import helper

import guideboot
import run_arms

CLICKS_A, IMPRESSIONS_A = None, None
CLICKS_B, IMPRESSIONS_B = None, None


def check():
    A, B = (CLICKS_A, IMPRESSIONS_A), (CLICKS_B, IMPRESSIONS_B)
    assert all(isinstance(number, int) for number in A + B), "four whole numbers, please"
    for clicks, impressions in (A, B):
        assert 0 <= clicks <= impressions and 1 <= impressions <= 300, (
            "0 <= clicks <= impressions, and 1 to 300 impressions")
    boot = run_arms.chance_to_win(guideboot.bootstrap_distribution(*B),
                                  guideboot.bootstrap_distribution(*A))
    assert boot < 0.001, (
        f"the bootstrap still shows Ad_B with probability {boot:.4f}: "
        "when can an estimate of 0 win, and when can Ad_A's be 0 too?")
    guided = run_arms.chance_to_win(guideboot.guided_distribution(*B, 1),
                                    guideboot.guided_distribution(*A, 1))
    assert guided > 0.5, (
        f"GuideBoot shows Ad_B with probability {guided:.4f}: "
        "for which numbers of impressions is g = alpha / n largest?")


if __name__ == "__main__":
    helper.main(check)
